/** Notes, folders and a vault, and a caller who sees and changes some of them. */
import type { AccessAction, AccessPolicy, Grant } from '../../src/access/access-policy.ts'
import type { Database } from '../../src/database-operations.ts'
import { AshlarError } from '../../src/errors.ts'
import { FederatedDatabase } from '../../src/federated-database.ts'
import { rowTexts, rowValues } from '../row-texts.ts'
import { openStoreOfRun } from '../store/store-of-run.ts'

const setUp = `UPDATE SCHEMA {
  CREATE CLASS D.Place EMBEDDABLE {town: String, code: String}
  CREATE CLASS D.Note {title: String, owner: String, secret: String, pages: Integer, next: Reference{Referenced: D.Note},
    folder: Reference{Referenced: D.Folder, Inverse: notes}, tags: List{Element: String}}
  CREATE CLASS D.Memo SUPERCLASS D.Note {number: Integer}
  CREATE CLASS D.Folder {name: String, notes: List{Element: Reference{Referenced: D.Note, Inverse: folder}}}
  CREATE CLASS Hidden.Vault {code: String, note: Reference{Referenced: D.Note}}
};
CREATE UNIQUE INDEX noteTitle ON D.Note (title); CREATE INDEX noteOwner ON D.Note (owner);
LET f = CREATE D.Folder {name: 'all'};
LET hers = CREATE D.Note {title: 'hers', owner: 'eve', secret: 'x', folder: $f};
LET his = CREATE D.Note {title: 'his', owner: 'bob', secret: 'y', folder: $f, next: $hers, pages: 1};
LET memo = CREATE D.Memo {title: 'memo', owner: 'bob', secret: 'z', folder: $f, next: $his, pages: 2, number: 3};
LET shared = CREATE D.Note {title: 'shared', owner: 'all', secret: 's', folder: $f, pages: 3};
CREATE Hidden.Vault {code: '1', note: $his}`

export const user = { name: 'bob', roles: ['team'], claims: {} }
export const everyAction: readonly AccessAction[] = ['read', 'create', 'update', 'delete', 'query']
export const mine = 'owner = $$USER.name'

export function on(className: string, more: Partial<Grant> = {}): Grant {
  return { on: { kind: 'class', className }, actions: everyAction, ...more }
}

/** Sees his own notes and those of all, changes his own. */
export const bob: AccessPolicy = {
  user,
  grants: [
    on('D.Note', {
      hidden: ['secret'],
      rules: { read: `${mine} OR owner = 'all'`, create: mine, update: mine, delete: mine },
    }),
    on('D.Folder', { actions: ['read', 'update', 'query'] }),
  ],
}

export async function withNotes(use: (fd: FederatedDatabase) => Promise<void>): Promise<void> {
  const fd = await FederatedDatabase.open({ alias: 'notes', store: await openStoreOfRun() })
  await rowTexts(await fd.query({ text: setUp }))
  await use(fd)
  await fd.close()
}

export async function rowsOf(database: Database, text: string, parameters = {}): Promise<unknown[]> {
  return rowValues(await database.query({ text, parameters }))
}

export async function oidOf(fd: Database, title: string): Promise<string> {
  const [row] = await rowsOf(fd, `FROM D.Note WHERE title = '${title}' RETURN $$ID AS id`)
  return (row as { id: string }).id
}

/** Of every note, as nothing is kept from whoever asks. */
export function allNotes(fd: Database): Promise<unknown[]> {
  return rowsOf(fd, 'FROM D.Note ORDER BY title RETURN title, owner, secret, pages, next.title AS next, tags')
}

export async function failureOf(act: () => unknown): Promise<AshlarError> {
  try {
    await act()
  } catch (error) {
    if (error instanceof AshlarError) return error
    throw error
  }
  throw new Error('it did not fail')
}
