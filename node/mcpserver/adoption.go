package mcpserver

func adoptionTools() []*tool { return nil }
