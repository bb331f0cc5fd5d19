"""LoCoMo: "Evaluating Very Long-Term Conversational Memory of LLM Agents" (Maharana et al., 2024)."""
