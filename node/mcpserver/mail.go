package mcpserver

func mailTools() []*tool { return nil }
