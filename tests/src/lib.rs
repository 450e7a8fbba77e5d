//! Filetests, the corpus runner and repository rules of hloc.
