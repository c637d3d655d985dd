// Forgets users: the key is removed with the name, the delegations end, and with them all tokens in the user's name.
// Rows that nobody may change keep the random id, which then names nobody.
// docs/decisions/0047-users-forgotten.md

import { succeeded } from '../../audit/audit.ts';
import type { RequestContext } from '../../platform/context.ts';
import type { Database } from '../../platform/database/database.ts';
import { Service } from '../../platform/service.ts';
import type { RecordService } from '../../webhooks/intake/record.service.ts';
import type { DelegationService } from '../delegations/delegation.service.ts';
import type { RevocationService } from '../tokens/revocation.service.ts';
import type { Subject } from './subject.ts';
import type { UserService } from './user.service.ts';

/** `userId` is null when nobody of the name is known. */
export type Forgotten = {
  readonly forgotten: boolean;
  readonly userId: string | null;
  readonly revokedDelegations: number;
};

export class UserForgettingService extends Service<{
  database: Pick<Database, 'transaction'>;
  users: Pick<UserService, 'remove'>;
  delegations: Pick<DelegationService, 'endOfUsers'>;
  tokens: Pick<RevocationService, 'endPrincipal'>;
  records: Pick<RecordService, 'write'>;
}> {
  /**
   * Forgets the user of this name. A repeated call finds nobody. A later user of the same name is another one.
   * Emits `admin.delegation.revoked` for each delegation that ends.
   */
  forget = (context: RequestContext, subject: Subject): Promise<Forgotten> =>
    this.needs.database.transaction(context, async (transaction) => {
      const { tenant } = context;
      // Two rows only where processes with other first master keys met the same new user.
      const ids = await this.needs.users.remove(transaction, tenant.id, subject);
      for (const id of ids) await this.needs.tokens.endPrincipal(transaction, tenant.id, id);
      const ended = await this.needs.delegations.endOfUsers({ ...context, transaction }, ids);
      await this.needs.records.write(transaction, context, {
        audit: ids.map((id) =>
          succeeded('user.forgotten', { type: 'user', id }, { revoked_delegations: ended }),
        ),
      });
      return { forgotten: ids.length > 0, userId: ids[0] ?? null, revokedDelegations: ended };
    });
}
