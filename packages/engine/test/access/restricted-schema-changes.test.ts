/** What a restricted caller is told of changes of the schema: nothing of those that concern what is hidden from it alone (contract 9.4.14). */
import { describe, expect, it } from 'vitest'
import type { AccessPolicy } from '../../src/access/access-policy.ts'
import { FederatedDatabase } from '../../src/federated-database.ts'
import { rowTexts } from '../row-texts.ts'
import { openStoreOfRun } from '../store/store-of-run.ts'
import { on, user } from './access-notes.ts'

const setUp = `UPDATE SCHEMA {
  CREATE CLASS D.Place EMBEDDABLE {town: String, code: String}
  CREATE CLASS D.Note {title: String, secret: String, place: Object{Class: D.Place}}
  CREATE CLASS D.Letter {title: String}
  CREATE CLASS Hidden.Vault {code: String}
}`

const policy: AccessPolicy = {
  user,
  grants: [on('D.Note', { hidden: ['secret', 'later'] }), on('D.Letter'), on('D.Letter2', { hidden: ['later'] })],
}

interface Told {
  readonly change: string
  readonly classes?: readonly string[]
  readonly indexes?: readonly string[]
}

/** What a caller is told of what the statements change, commit by commit. */
async function toldOf(texts: readonly string[], limit = 100): Promise<Told[]> {
  const fd = await FederatedDatabase.open({ alias: 'notes', store: await openStoreOfRun(), changeLog: 'on' })
  await rowTexts(await fd.query({ text: setUp }))
  const { changes } = fd.following(policy)
  let { position } = await changes.page({ since: 'now', include: 'values', limit })
  for (const text of texts) await rowTexts(await fd.query({ text }))
  const told: Told[] = []
  for (let isAtEnd = false; !isAtEnd; ) {
    const page = await changes.page({ since: position, include: 'values', limit })
    told.push(...page.changes.map(({ json }) => JSON.parse(json.toString()) as Told))
    position = page.position
    isAtEnd = page.isAtEnd
  }
  await fd.close()
  return told
}

const schema = (text: string): string => `UPDATE SCHEMA { ${text} }`

describe('changes of the schema', () => {
  const hidden: Readonly<Record<string, readonly string[]>> = {
    'a class': [schema('CREATE CLASS Hidden.Safe {code: String}'), schema('DROP CLASS Hidden.Vault')],
    'an attribute of a hidden class': [schema('ALTER CLASS Hidden.Vault { ADD more: String }')],
    'a hidden subclass of a class that is known': [
      schema('CREATE CLASS Hidden.Sub SUPERCLASS Hidden.Vault {x: String}'),
    ],
    'a hidden attribute': [
      schema('ALTER CLASS D.Note { ADD later: String }'),
      schema('ALTER CLASS D.Note { DROP secret }'),
    ],
    'an attribute that refers to a hidden class': [
      schema('ALTER CLASS D.Note { ADD vault: Reference{Referenced: Hidden.Vault} }'),
      schema('ALTER CLASS D.Note { DROP vault }'),
    ],
    'the inverse of an attribute of a hidden class': [
      schema(
        'ALTER CLASS Hidden.Vault { ADD note: Reference{Referenced: D.Note, Inverse: vaults} } ALTER CLASS D.Note { ADD vaults: List{Element: Reference{Referenced: Hidden.Vault, Inverse: note}} }',
      ),
    ],
    'an index of a hidden class, and one by a hidden attribute': [
      'CREATE INDEX a ON Hidden.Vault (code); CREATE INDEX b ON D.Note (secret)',
      'DROP INDEX a; DROP INDEX b',
    ],
  }
  for (const [what, texts] of Object.entries(hidden)) {
    it(`are not told where they are of ${what}`, async () => {
      expect(await toldOf(texts)).toEqual([])
    })
  }

  it('are told of what is known', async () => {
    const told = await toldOf([
      schema('ALTER CLASS D.Note { ADD x: String }'),
      schema('ALTER CLASS D.Note { ADD later: String, ADD y: Reference{Referenced: D.Letter} }'),
      schema('ALTER CLASS D.Note { DROP x }'),
      schema('ALTER CLASS D.Place { ADD street: String }'),
      schema('CREATE CLASS D.Memo SUPERCLASS D.Note {}'),
    ])
    expect(told.map(({ classes }) => classes)).toEqual([['D.Note'], ['D.Note'], ['D.Note'], ['D.Place'], ['D.Memo']])
  })

  it('of one commit are told as one, whatever is hidden between them', async () => {
    const attributes = Array.from({ length: 40 }, (_, nth) => `a${nth}: String`).join(', ')
    const many = Array.from({ length: 60 }, (_, nth) => `CREATE CLASS Hidden.More${nth} {${attributes}}`).join('\n')
    const commit = schema(`CREATE CLASS D.Memo SUPERCLASS D.Note {}
      ${many}
      CREATE CLASS D.Card SUPERCLASS D.Letter {}`)
    for (const limit of [1, 100]) {
      const told = await toldOf([`${commit}; CREATE Hidden.Vault {}; CREATE INDEX i ON D.Note (title)`], limit)
      expect(told).toMatchObject([{ change: 'schema', classes: ['D.Memo', 'D.Card'], indexes: ['i'] }])
    }
  })

  it('are told of a class that changes more than once in one commit, by all of these changes', async () => {
    const told = await toldOf([
      `${schema('ALTER CLASS D.Note { ADD x: String }')}; ${schema('ALTER CLASS D.Note { ADD later: String }')}`,
      `${schema('CREATE CLASS D.Memo SUPERCLASS D.Note {}')}; ${schema('ALTER CLASS D.Memo { ADD later: String }')}`,
    ])
    expect(told.map(({ classes }) => classes)).toEqual([['D.Note'], ['D.Memo']])
  })

  it('are told of what a class that is known inherits', async () => {
    const told = await toldOf([
      `${schema('CREATE CLASS Hidden.Base {code: String, later: String}')};
        ${schema('CREATE CLASS D.Letter2 SUPERCLASS Hidden.Base {}')}; ${schema('CREATE CLASS D.Memo SUPERCLASS D.Note {}')}`,
      schema('ALTER CLASS D.Note { ADD x: String }'),
      schema('ALTER CLASS Hidden.Base { ADD x: String }'),
      schema('ALTER CLASS Hidden.Base { RENAME x TO y }'),
      schema('ALTER CLASS Hidden.Base { DROP y }'),
      schema('ALTER CLASS Hidden.Base { ADD vault: Reference{Referenced: Hidden.Vault} }'),
      schema('ALTER CLASS Hidden.Base { DROP later }'),
    ])
    expect(told.map(({ classes }) => classes)).toEqual([
      ['D.Letter2', 'D.Memo'],
      ['D.Note', 'D.Memo'],
      ['D.Letter2'],
      ['D.Letter2'],
      ['D.Letter2'],
    ])
  })

  it('count as one of the changes of a page', async () => {
    const fd = await FederatedDatabase.open({ alias: 'notes', store: await openStoreOfRun(), changeLog: 'on' })
    await rowTexts(await fd.query({ text: `${setUp}; CREATE D.Note {title: 'x'}; CREATE D.Note {title: 'y'}` }))
    for (const { changes } of [fd, fd.following(policy)]) {
      const told: string[] = []
      for (let since = 'first', isAtEnd = false; !isAtEnd; ) {
        const page = await changes.page({ since, include: 'values', limit: 1 })
        expect(page.changes.length).toBeLessThanOrEqual(1)
        told.push(...page.changes.map(({ json }) => (JSON.parse(json.toString()) as Told).change))
        since = page.position
        isAtEnd = page.isAtEnd
      }
      expect(told).toEqual(['schema', 'created', 'created'])
    }
    await fd.close()
  })
})
