/** Whatever a change of the schema is refused for: the error has its line and column in the text, at the piece to blame. */
import { expect } from 'vitest'
import { queryTest } from './query-database.ts'

const setUp = [
  `UPDATE SCHEMA {
    CREATE CLASS Thing {name: String, n: Integer, to: Reference{Referenced: Thing}}
    CREATE CLASS Sub SUPERCLASS Thing {own: Integer}
    CREATE CLASS Part EMBEDDABLE {size: Integer}
  }`,
  'CREATE INDEX byName ON Thing (name)',
  "CREATE Thing {name: 'a'}; CREATE Thing {name: 'a'}",
]

const changes: readonly (readonly [marked: string, type: string])[] = [
  // Classes.
  ['CREATE CLASS «Thing {}', 'ClassExists'],
  ['CREATE CLASS «__A {}', 'InvalidName'],
  ['CREATE CLASS «ooObj {}', 'InvalidName'],
  ['CREATE CLASS A {} «CREATE CLASS A {}', 'InvalidDefinition'],
  ['CREATE CLASS A SUPERCLASS «A {}', 'InvalidDefinition'],
  ['CREATE CLASS A SUPERCLASS «Part {}', 'InvalidDefinition'],
  ['CREATE CLASS A SUPERCLASS «Nobody {}', 'QueryError'],
  ['CREATE CLASS A EMBEDDABLE SUPERCLASS «ooObj {}', 'InvalidDefinition'],
  ['CREATE CLASS A {} CREATE CLASS B SUPERCLASS «Part {}', 'InvalidDefinition'],
  ['«CREATE CLASS A {a: Integer, b: Integer, c: Integer, d: Integer, e: Integer}', 'LimitExceeded'],
  ['RENAME CLASS Thing TO «Part', 'ClassExists'],
  ['RENAME CLASS Thing TO «__A', 'InvalidName'],
  ['RENAME CLASS «Nobody TO A', 'QueryError'],
  ['«DROP CLASS Thing', 'ClassInUse'],
  // Attributes.
  ['CREATE CLASS A {«__a: Integer}', 'InvalidName'],
  ['CREATE CLASS A {a: Integer, «a: String}', 'InvalidDefinition'],
  ['CREATE CLASS A EMBEDDABLE {«a: Object{Class: A}}', 'InvalidDefinition'],
  ['ALTER CLASS Thing {ADD «name: Integer}', 'AttributeExists'],
  ['ALTER CLASS Thing {RENAME n TO m, ADD «name: Integer}', 'AttributeExists'],
  ['ALTER CLASS Thing {ADD b: Integer, ADD «__c: Integer}', 'InvalidName'],
  ['ALTER CLASS Thing {DROP n, ADD «__c: Integer}', 'InvalidName'],
  ['ALTER CLASS Thing {DROP n, ADD c: Integer{Storage: «B7}}', 'InvalidDefinition'],
  ['«ALTER CLASS Sub {ADD c: Integer, ADD d: Integer}', 'LimitExceeded'],
  ['ALTER CLASS Thing {DROP n, DROP «nope}', 'UnknownAttribute'],
  ['ALTER CLASS Sub {DROP «name}', 'UnknownAttribute'],
  ['ALTER CLASS Thing {DROP «name}', 'AttributeInUse'],
  ['ALTER CLASS Thing {RENAME «nope TO a}', 'UnknownAttribute'],
  ['ALTER CLASS Thing {RENAME name TO «n}', 'AttributeExists'],
  ['ALTER CLASS Thing {RENAME name TO «__n}', 'InvalidName'],
  // Types.
  ['CREATE CLASS A {a: Integer{Storage: «B7}}', 'InvalidDefinition'],
  ['CREATE CLASS A {a: Integer{«Storage: 5}}', 'MalformedValue'],
  ['CREATE CLASS A {a: String{FixedLength: «x}}', 'MalformedValue'],
  ['CREATE CLASS A {a: «String{Storage: Fixed}}', 'InvalidDefinition'],
  ['CREATE CLASS A {a: String{Storage: Fixed, «FixedLength: 5000000}}', 'InvalidDefinition'],
  ['CREATE CLASS A {a: «Reference}', 'InvalidDefinition'],
  ['CREATE CLASS A {a: Reference{Referenced: «Part}}', 'InvalidDefinition'],
  ['CREATE CLASS A {a: Reference{Referenced: Thing, Inverse: «nope}}', 'UnknownAttribute'],
  ['CREATE CLASS A {a: Reference{Referenced: Thing, Inverse: «name}}', 'InvalidDefinition'],
  ['CREATE CLASS A {a: Set{Element: Reference{Referenced: Thing, Inverse: «to}}}', 'InvalidDefinition'],
  ['CREATE CLASS A {a: Reference{EdgeClass: Thing, EdgeAttribute: «name}}', 'InvalidDefinition'],
  ['CREATE CLASS A {a: Object{Class: «Thing}}', 'InvalidDefinition'],
  ['CREATE CLASS A {a: List{Element: «List{Element: String}}}', 'InvalidDefinition'],
  ['CREATE CLASS A {a: List{Element: Integer{Storage: «B7}}}', 'InvalidDefinition'],
  ['CREATE CLASS A {a: List{«Element: 5}}', 'MalformedValue'],
  ['CREATE CLASS A {a: Map{Key: «Integer, Element: Reference{Referenced: Thing}}}', 'InvalidDefinition'],
]

const indexes: readonly (readonly [marked: string, type: string])[] = [
  ['CREATE INDEX «byName ON Thing (n)', 'IndexExists'],
  ["CREATE INDEX «'a b' ON Thing (n)", 'InvalidName'],
  ['CREATE INDEX i ON «Nobody (n)', 'QueryError'],
  ['CREATE INDEX i ON «Part (size)', 'ClassNotReferenceable'],
  ['CREATE INDEX i ON Thing (n, «nope)', 'UnknownAttribute'],
  ['CREATE INDEX i ON Thing (n, «Thing::n)', 'InvalidDefinition'],
  ['CREATE INDEX i ON Thing («name.x)', 'UnknownAttribute'],
  ['«CREATE INDEX i ON Thing (name, n, to)', 'LimitExceeded'],
  ['«CREATE UNIQUE INDEX i ON Thing (name)', 'UniqueViolation'],
  ['«DROP INDEX nothing', 'IndexNotFound'],
]

queryTest(
  'alone, and after another statement, on any line',
  setUp,
  async (db) => {
    const statements = [
      ...changes.map(([change, type]) => [`UPDATE SCHEMA {\n  ${change}\n}`, type] as const),
      ...indexes,
    ]
    const [told, wanted]: [unknown[], unknown[]] = [[], []]
    for (const [statement, type] of statements) {
      for (const marked of [statement, `SHOW 1;\n ${statement}`]) {
        const text = marked.replace('«', '')
        const { errors, extensions, ...error } = await db.failure(text)
        const { line, column } = extensions
        told.push({ text, type: error.type, line, column, places: errors.map(({ place }) => place) })
        const before = marked.slice(0, marked.indexOf('«')).split('\n')
        const at = { line: before.length, column: (before.at(-1) as string).length + 1 }
        wanted.push({ text, type, ...at, places: [['query']] })
      }
    }
    expect(told).toEqual(wanted)
    expect(await db.rows('SHOW CLASSES')).toHaveLength(3)
  },
  { limits: { classAttributesMax: 4, indexKeyAttributesMax: 2 } },
)
