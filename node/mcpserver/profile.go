package mcpserver

func profileTools() []*tool { return nil }
