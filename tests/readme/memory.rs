//! The snippets of the page on long-term memory, between marks: compiled and run.

use rstest::rstest;

use crate::{assert_shows, cut};

#[rstest]
#[case::node("node")]
#[case::embedding("embedding")]
#[case::search("search")]
fn the_page_on_memory_shows_what_is_run(#[case] name: &str) {
    assert_shows("docs/guide/memory.md", &cut(include_str!("memory.rs"), name));
}

mod notes {
    use std::sync::Arc;

    use superstep::prelude::*;

    #[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
    struct Chat {
        user: String,
        text: String,
        reply: String,
    }

    #[derive(NodeId)]
    enum Step {
        Answer,
    }

    // <node>
    use serde_json::json;
    use superstep::memory::{StoreFilter, StoreSearch, StoreWrite};

    async fn answer(chat: Arc<Chat>, ctx: Ctx) -> Result<ChatUpdate, NodeError> {
        let place = ["users", &chat.user];
        let name = ctx.store().get(place, "name").await?; // an item, or nothing
        let short = StoreFilter::new(json!({"kind": "note", "length": {"$lt": 100}}))?;
        let notes = ctx.store().search(StoreSearch::new(place).filter(short).limit(5)).await?;
        let note = json!({"kind": "note", "text": chat.text, "length": chat.text.len()});
        ctx.store().put(StoreWrite::new(place, format!("note {}", notes.len()), note).ttl_minutes(60.0)).await?;
        Ok(Chat::update().reply(format!("{} notes before, name known: {}", notes.len(), name.is_some())))
    }
    // </node>

    #[tokio::test]
    async fn a_thread_finds_the_note_of_another() -> Result<(), Box<dyn std::error::Error>> {
        let graph = StateGraph::new().add_node(Step::Answer, answer).add_sequence([Step::Answer]).compile()?;
        let graph = graph.with_checkpointer(MemoryCheckpointer::new());
        graph.thread("monday").invoke(Chat::update().user("ada").text("tea, please")).await?;
        let tuesday = graph.thread("tuesday").invoke(Chat::update().user("ada").text("the same")).await?;
        assert_eq!(tuesday.state().reply, "1 notes before, name known: false");
        Ok(())
    }
}

mod meaning {
    use std::sync::Arc;

    use serde_json::json;
    use superstep::checkpoint::MemoryCheckpointer;

    // <embedding>
    use superstep::checkpoint::BoxFuture;
    use superstep::memory::{CheckpointerStore, Embed, EmbedError, Store, StoreSearch, StoreWrite};

    struct Letters; // stands for a model

    impl Embed for Letters {
        fn name(&self) -> &str {
            "letters-1" // vectors of another name are not compared
        }
        fn embed(&self, texts: Vec<String>) -> BoxFuture<'_, Result<Vec<Vec<f32>>, EmbedError>> {
            let count = |text: &String| ('a'..='z').map(|letter| text.matches(letter).count() as f32).collect();
            Box::pin(async move { Ok(texts.iter().map(count).collect()) })
        }
    }
    // </embedding>

    #[tokio::test]
    async fn the_best_match_has_the_same_letters() -> Result<(), Box<dyn std::error::Error>> {
        let checkpointer = Arc::new(MemoryCheckpointer::new());
        // <search>
        let store = CheckpointerStore::new(checkpointer).with_embed(Arc::new(Letters)).index_fields(["text"]);
        for text in ["tea", "coffee", "moon"] {
            store.put(StoreWrite::new(["notes"], text, json!({"text": text}))).await?;
        }
        let best = store.search(StoreSearch::new(["notes"]).query("eat").limit(1)).await?;
        assert_eq!(best[0].key, "tea");
        // </search>
        Ok(())
    }
}
