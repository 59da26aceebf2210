module example.test/tools
