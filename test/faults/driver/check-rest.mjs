// What must hold of tokens, the audit log, the accounts and the service's own examination when everything has drained.
import { setTimeout as sleep } from 'node:timers/promises';

export async function checkRest({ stack, ledger, client }) {
  await checkFamilies(stack, ledger);
  await checkRecords(stack, ledger);
  await checkAccounts(client, ledger);
  await checkOutbox(stack, ledger);
  const verified = await stack.run('audit', 'verify', '--json');
  if (verified.code !== 0)
    ledger.violate('audit verify', verified.text.slice(0, 600) || verified.errors.slice(0, 600));
  const examined = await stack.run('doctor', '--json');
  if (examined.code !== 0) ledger.violate('doctor', findings(examined));
  for (const end of ledger.ownEnds) ledger.violate('a process ended by itself', end);
}

function findings({ text, errors }) {
  try {
    const { checks, findings: found } = JSON.parse(text);
    const failed = checks.filter(({ failure }) => failure !== null);
    return JSON.stringify([...found.slice(0, 5), ...failed]).slice(0, 900);
  } catch {
    return `${text}${errors}`.slice(0, 600);
  }
}

/** Of a family one token at most can still be used, and none when it was ended. */
async function checkFamilies(stack, ledger) {
  const rows = await stack.query(
    `SELECT family_id, count(*) FILTER (WHERE used_at IS NULL AND revoked_at IS NULL)::int AS live, bool_or(revoked_reason = 'reuse') AS ended
     FROM refresh_tokens GROUP BY family_id`,
  );
  for (const { family_id, live, ended } of rows)
    if (live > (ended ? 0 : 1))
      ledger.violate(
        'refresh family',
        `${family_id} has ${live} live tokens${ended ? ', and was ended' : ''}`,
      );
}

/** Every token and every change that was answered is in the audit log. */
async function checkRecords(stack, ledger) {
  const rows = await stack.query('SELECT token_id, request_id FROM audit_log');
  const tokens = new Set(rows.map(({ token_id }) => token_id));
  const requests = new Set(rows.map(({ request_id }) => request_id));
  for (const jti of ledger.tokens.keys())
    if (!tokens.has(jti)) ledger.violate('audit log', `token ${jti} is not in it`);
  for (const [id, { what }] of ledger.changes)
    if (!requests.has(id)) ledger.violate('audit log', `${what} by request ${id} is not in it`);
}

async function checkAccounts(client, ledger) {
  const { status, body } = await client.persist('GET', '/api/v1/delivery-accounts');
  if (status !== 200) return ledger.violate('accounts', `answered ${status}`);
  for (const { day, difference, stranded } of body.data)
    if (difference !== 0 || stranded !== 0)
      ledger.violate('accounts', `${day}: ${difference} missing, ${stranded} stranded`);
}

/** Seconds for the sweep of a worker, which runs each minute, to remove what a deleted subscription has left. */
const SWEPT_WITHIN = 90;

/** Nothing is left to hand over. */
async function checkOutbox(stack, ledger) {
  for (let seconds = 0; ; seconds += 1) {
    const rows = await stack.query(
      `SELECT o.kind, count(*)::int AS count, string_agg(format('%s (endpoint %s%s)', d.id, e.state,
         CASE WHEN e.active THEN '' ELSE ', inactive' END), ', ') AS which
       FROM outbox o JOIN deliveries d ON d.id = o.delivery_id JOIN endpoints e ON e.subscription_id = o.endpoint
       WHERE d.status NOT IN ('pending', 'retrying') GROUP BY o.kind`,
    );
    if (rows.length === 0) return;
    if (seconds === SWEPT_WITHIN)
      return rows.forEach(({ kind, count, which }) => {
        ledger.violate('outbox', `${count} rows "${kind}" of ended deliveries: ${which}`);
      });
    await sleep(1_000);
  }
}
