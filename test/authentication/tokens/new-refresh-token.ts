// Stores the first refresh token of a family for tests, as a redemption does.
import {
  insertRefreshTokens,
  NEW_TOKEN_COLUMNS,
} from '../../../src/authentication/tokens/new-refresh-token.ts';
import type { TokenService } from '../../../src/authentication/tokens/token.service.ts';
import type { Queryable } from '../../../src/platform/database/transaction.ts';

/** @returns the text of the token */
export async function storeRefreshToken(
  tokens: Pick<TokenService, 'prepareRefreshToken'>,
  unit: Queryable,
  grant: Parameters<TokenService['prepareRefreshToken']>[0],
): Promise<string> {
  const { text, record } = tokens.prepareRefreshToken(grant);
  const insert = insertRefreshTokens(NEW_TOKEN_COLUMNS.from('token'));
  await unit.query(insert, NEW_TOKEN_COLUMNS.of([record]));
  return text;
}
