//! The entries of log channels back to a state. Readers of several checkpoints keep them decoded: the logs of a thread's
//! checkpoints are beginnings of one another.
