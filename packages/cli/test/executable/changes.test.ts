/** `ashlar changes`: each change on one line, also those of the schema. */
import { expect, it } from 'vitest'
import { served } from './command-line.ts'

const server = served()
const environment = { ASHLAR_FD: 'default' }

/** The lines without position and time, and OIDs as one word. */
async function changesSince(position: string): Promise<string[]> {
  const { code, stdout, stderr } = await server.run(['changes', '--since', position], { environment })
  expect(code, stderr).toBe(0)
  const lines = stdout.trimEnd().split('\n')
  return lines.map((line) => line.replace(/^\S+ {2}\S+ {2}/, '').replaceAll(/\d+-\d+-\d+-\d+/g, 'OID'))
}

it('says what of the schema was created, changed or deleted', async () => {
  const statements = [
    'UPDATE SCHEMA { CREATE CLASS Car {n: Integer{Unique}}, CREATE CLASS Bus {n: Integer} }',
    'CREATE SEQUENCE numbers',
    'CREATE INDEX byNumber ON Bus (n)',
    'CREATE Bus {n: 1}',
    'UPDATE Bus SET n TO 2',
    'DROP INDEX byNumber',
    'DROP SEQUENCE numbers',
    'UPDATE SCHEMA { DROP CLASS Car }',
  ]
  for (const statement of statements) {
    expect(await server.run(['query', statement], { environment })).toMatchObject({ code: 0 })
  }
  // An index is created and becomes ready in two commits.
  expect([...new Set(await changesSince('first'))]).toEqual([
    'schema    created or changed: class Car, class Bus, index Car.n',
    'schema    created or restarted: sequence numbers',
    'schema    created or changed: index byNumber',
    'created   Bus OID',
    'updated   Bus OID n',
    'schema    deleted: an index',
    'schema    deleted: a sequence',
    'schema    deleted: class Car, an index',
  ])
})
