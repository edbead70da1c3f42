//! The contract of an embedding: texts become vectors. Knows no model.

use std::error::Error;

use crate::checkpoint::BoxFuture;

/// Failure of an embedding.
pub type EmbedError = Box<dyn Error + Send + Sync>;

/// Embedding of texts, by a model of the user's: a store with one finds items by their meaning. LangGraph: `Embeddings`.
///
/// ```
/// use superstep::checkpoint::BoxFuture;
/// use superstep::memory::{Embed, EmbedError};
///
/// /// Counts letters: texts with the same letters are similar.
/// struct Letters;
///
/// impl Embed for Letters {
///     fn name(&self) -> &str {
///         "letters-1"
///     }
///
///     fn embed(&self, texts: Vec<String>) -> BoxFuture<'_, Result<Vec<Vec<f32>>, EmbedError>> {
///         let count = |text: &String| ('a'..='z').map(|letter| text.matches(letter).count() as f32).collect();
///         Box::pin(async move { Ok(texts.iter().map(count).collect()) })
///     }
/// }
/// ```
pub trait Embed: Send + Sync + 'static {
    /// Returns the name of the model and its version. Vectors of another name are never compared: after a change, items are
    /// found again once they are written again.
    fn name(&self) -> &str;

    /// Returns a vector for each text, in their order, all of the same length.
    ///
    /// # Errors
    /// If the model cannot be reached or refuses.
    fn embed(&self, texts: Vec<String>) -> BoxFuture<'_, Result<Vec<Vec<f32>>, EmbedError>>;
}
