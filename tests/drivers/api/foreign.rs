//! The driver against a third-party server, which `tests/foreign/aimock.sh` starts. Not in the default run.

use serde_json::json;
use superstep::drivers::api::{ApiConfig, ApiDriver, ApiKey};
use superstep::drivers::{DriverErrorClass, DriverExt, SessionStore};

use super::{KEY, Scene, after};

#[tokio::test]
#[ignore = "needs a foreign server: tests/foreign/aimock.sh"]
async fn a_foreign_server_agrees_on_the_wire() {
    let scene = Scene::of([]).await;
    let url = std::env::var("AIMOCK_URL").unwrap();
    let api = || {
        let config = ApiConfig::new(&url).key(ApiKey::new(KEY), "MY_KEY");
        ApiDriver::new(config, SessionStore::new(scene.store())).unwrap()
    };
    let first = api().finish(scene.request("1", "Add the moons."), |event| println!("{event:?}")).await.unwrap();
    assert_eq!(first.submitted, Some(json!({ "summary": "moons" })));
    assert_eq!(first.usage.requests, 3);
    assert_eq!(std::fs::read_to_string(scene.work().join("b/ü.txt")).unwrap(), "größe \"1\"\n🌊");
    assert!(scene.stored().contains("I read first: größe 🌊."));

    let mut request = scene.request("2", "Say more.");
    request.session = after(&first);
    let second = api().finish(request, |event| println!("{event:?}")).await.unwrap();
    assert_eq!((second.text.as_str(), second.submitted), ("There are two.", None));

    let error = api().finish(scene.request("3", "Too fast."), |_| ()).await.unwrap_err();
    assert_eq!(error.class, DriverErrorClass::RateLimited, "{error}");
    let error = api().finish(scene.request("4", "Nobody knows this."), |_| ()).await.unwrap_err();
    println!("{error:?}");
}
