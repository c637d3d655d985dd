// Judges each line of a file of deliveries, and prints how many cases passed and failed.
use base64::{engine::general_purpose::STANDARD, Engine};
use http::HeaderMap;
use standardwebhooks::Webhook;

fn accepts(secret: &str, body: &[u8], headers: &HeaderMap) -> bool {
    Webhook::new(secret).is_ok_and(|webhook| webhook.verify(body, headers).is_ok())
}

fn main() {
    let file = std::env::args().nth(1).expect("a file");
    let text = std::fs::read_to_string(file).expect("deliveries");
    let (mut passed, mut failed) = (0, 0);
    for line in text.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let mut headers = HeaderMap::new();
        headers.insert("webhook-id", fields[2].parse().expect("an id"));
        headers.insert("webhook-timestamp", fields[3].parse().expect("a time"));
        headers.insert("webhook-signature", fields[4].parse().expect("signatures"));
        let body = STANDARD.decode(fields[5]).expect("a body");
        let secrets: Vec<&str> = fields[1].split(',').collect();
        let count = secrets.iter().filter(|secret| accepts(secret, &body, &headers)).count();
        let ok = match fields[0] {
            "each" => count == secrets.len(),
            "any" => count > 0,
            _ => count == 0,
        };
        if ok {
            passed += 1
        } else {
            failed += 1
        }
    }
    println!("{passed} {failed}");
}
