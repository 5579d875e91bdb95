package mcpserver

func bridgeTools() []*tool { return nil }
