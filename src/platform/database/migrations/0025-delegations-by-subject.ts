// An index by the names of users, which exchanges of 0.1.0 read. Since 0021 every row that has moved has the same name.

export const delegationsBySubject = 'DROP INDEX delegations_by_subject';
