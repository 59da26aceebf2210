package agent

// modelKeys are the variables of well-known providers, for CLIs that bring no model of their own. Tokens of a cloud that does more than answer, such
// as DATABRICKS_TOKEN, are not among them.
var modelKeys = []string{
	"OPENAI_*", "ANTHROPIC_*", "GEMINI_API_KEY", "GOOGLE_API_KEY", "OPENROUTER_*", "DEEPSEEK_*", "GROQ_*", "XAI_*", "MISTRAL_*", "COHERE_*",
	"AZURE_API_*", "AZURE_OPENAI_*", "DATABRICKS_API_*", "OLLAMA_*", "LITELLM_*", "LM_STUDIO_*", "TOGETHER*_API_KEY", "FIREWORKS_*", "CEREBRAS_*",
}

// envRunsItself are the variables of an .env file by which programs run something, or by which a key goes to another server.
var envRunsItself = []string{"BASH_ENV", "LD_PRELOAD", "LD_AUDIT", "DYLD_INSERT_LIBRARIES", "NODE_OPTIONS", "PYTHONSTARTUP", "GIT_", "PATH=", "_BASE_URL", "_API_BASE"}
