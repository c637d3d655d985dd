// Chooses the media type of an error body. The body is the same in both.
import Negotiator from 'negotiator';

const PROBLEM = 'application/problem+json';
const JSON_TYPE = 'application/json';
const PROBLEM_FIRST = [PROBLEM, JSON_TYPE];
const JSON_FIRST = [JSON_TYPE, PROBLEM];

/**
 * The media type of an error body, by `Accept` (RFC 9110 §12.5.1). Without a preference it is
 * `application/problem+json`, but `application/json` below `/oauth/` (RFC 6749 §5.2). A caller that accepts neither
 * gets the default: an error is not refused.
 */
export function chooseProblemType(accept: string | undefined, path: string): string {
  const available = path.startsWith('/oauth/') ? JSON_FIRST : PROBLEM_FIRST;
  const preferred = available[0] ?? PROBLEM;
  if (accept === undefined || accept === '' || accept === '*/*') return preferred;
  return new Negotiator({ headers: { accept } }).mediaType([...available]) ?? preferred;
}
