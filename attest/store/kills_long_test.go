//go:build long

package store_test

const kills = 200
