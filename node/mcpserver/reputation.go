package mcpserver

func reputationTools() []*tool { return nil }
