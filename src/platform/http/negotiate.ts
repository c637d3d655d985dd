// Chooses the media type of an error body; the body is the same for both types.
import Negotiator from 'negotiator';

const PROBLEM = 'application/problem+json';
const JSON_TYPE = 'application/json';
const PROBLEM_FIRST = [PROBLEM, JSON_TYPE];
const JSON_FIRST = [JSON_TYPE, PROBLEM];

/**
 * Chooses by `Accept` (RFC 9110 §12.5.1). The default is `application/problem+json`, and `application/json` below
 * `/oauth/` (RFC 6749 §5.2). A caller that accepts neither type receives the default, because an error is never
 * answered with 406.
 */
export function chooseProblemType(accept: string | undefined, path: string): string {
  const available = path.startsWith('/oauth/') ? JSON_FIRST : PROBLEM_FIRST;
  const preferred = available[0] ?? PROBLEM;
  if (accept === undefined || accept === '' || accept === '*/*') return preferred;
  return new Negotiator({ headers: { accept } }).mediaType([...available]) ?? preferred;
}
