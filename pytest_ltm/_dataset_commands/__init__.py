"""Commands about the data sets LoCoMo and LongMemEval: scoring files of answers, without a run."""
