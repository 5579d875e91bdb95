package mcpserver

func issueTools() []*tool { return nil }
