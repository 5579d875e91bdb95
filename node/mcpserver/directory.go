package mcpserver

func directoryTools() []*tool { return nil }
