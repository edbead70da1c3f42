//! WebSockets that carry no commands: frames that are none, or are too large, and ends without a goodbye. A connection ends, its stream is
//! free for another one, and the server goes on.

use futures::{SinkExt, StreamExt};
use reqwest::StatusCode;
use rstest::rstest;
use serde_json::{Value, json};
use superstep_server::Options;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use crate::api::Api;
use crate::limits::{rest, serve};

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// Connects once the server has a stream left.
async fn connect(api: &Api) -> Socket {
    let address = format!("{}/threads/t/stream/events", api.address.replace("http", "ws"));
    loop {
        match connect_async(&address).await {
            Ok((socket, _)) => return socket,
            Err(Error::Http(refused)) => assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE),
            Err(other) => panic!("{other}"),
        }
        tokio::task::yield_now().await;
    }
}

/// Sends a command, and returns the answer.
async fn send(socket: &mut Socket, command: Message) -> Value {
    socket.send(command).await.unwrap();
    loop {
        if let Message::Text(answer) = socket.next().await.unwrap().unwrap() {
            return serde_json::from_str(&answer).unwrap();
        }
    }
}

fn valid() -> Message {
    let params = json!({ "channels": ["values"] });
    Message::text(json!({ "id": 1, "method": "subscription.subscribe", "params": params }).to_string())
}

/// Returns the head of a frame of a client with this length.
fn head(first: u8, length: u64) -> Vec<u8> {
    [&[first, 0xff], length.to_be_bytes().as_slice(), &[0; 4]].concat()
}

#[rstest]
#[case::garbage(vec![0xff; 256])]
#[case::text_of_another_protocol(b"GET /ok HTTP/1.1\r\nhost: localhost\r\n\r\n".to_vec())]
#[case::no_mask(vec![0x81, 1, b'a'])]
#[case::no_text(vec![0x81, 0x82, 0, 0, 0, 0, 0xff, 0xfe])]
#[case::no_beginning(vec![0x80, 0x80, 0, 0, 0, 0])]
#[case::long_ping([&[0x89, 0xfe, 1, 0, 0, 0, 0, 0], [0; 256].as_slice()].concat())]
#[case::too_large(head(0x82, 5 << 20))]
#[case::far_too_large(head(0x82, 1 << 62))]
#[case::too_large_for_numbers(head(0x81, u64::MAX))]
#[case::close_of_no_reason(vec![0x88, 0x81, 0, 0, 0, 0, 1])]
#[case::half_a_frame(vec![0x81])]
#[case::nothing(vec![])]
#[tokio::test]
async fn a_socket_that_sends_no_frames_is_closed(#[case] bytes: Vec<u8>) {
    let api = serve(Options::default().stream_limit(1)).await;
    let MaybeTlsStream::Plain(mut stream) = connect(&api).await.into_inner() else { panic!("it has no TLS") };
    stream.write_all(&bytes).await.unwrap();
    if bytes.len() < 2 {
        stream.shutdown().await.unwrap(); // the other half stays open
    }
    rest(&mut stream).await;
    let mut next = connect(&api).await;
    let answer = send(&mut next, valid()).await;
    assert_eq!(answer["type"], "success", "{answer}");
    assert_eq!(api.get("/ok").await["ok"], true);
}

#[rstest]
#[case::no_json(Message::text("garbage"))]
#[case::no_object(Message::text("[]"))]
#[case::nothing(Message::text(""))]
#[case::deep(Message::text("[".repeat(100_000)))]
#[case::binary(Message::binary(vec![0xff; 100]))]
#[case::no_method(Message::text(r#"{"id":1}"#))]
#[case::unknown_method(Message::text(r#"{"id":1,"method":"x","params":{}}"#))]
#[case::huge_id(Message::text(r#"{"id":1e300,"method":"agent.getTree","params":{}}"#))]
#[case::no_parameters(Message::text(r#"{"id":1,"method":"run.start","params":7}"#))]
#[case::huge_number(Message::text(
    r#"{"id":1,"method":"subscription.subscribe","params":{"channels":["values"],"since":1e300}}"#
))]
#[tokio::test]
async fn a_message_that_is_no_command_is_answered_by_an_error(#[case] message: Message) {
    let api = serve(Options::default()).await;
    let mut socket = connect(&api).await;
    let answer = send(&mut socket, message).await;
    assert_eq!(answer["type"], "error", "{answer}");
    assert!(answer["message"].is_string(), "{answer}");
    let answer = send(&mut socket, valid()).await;
    assert_eq!(answer["type"], "success", "{answer}");
}
