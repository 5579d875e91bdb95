package mcpserver

func verifyTools() []*tool { return nil }
