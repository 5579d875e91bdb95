package mcpserver

func entryTools() []*tool { return nil }
