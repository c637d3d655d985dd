// SHA-256 in base64url, by the Web Crypto API.
import { base64url } from 'jose';

export async function sha256(text: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text));
  return base64url.encode(new Uint8Array(digest));
}
