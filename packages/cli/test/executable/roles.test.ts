/** `ashlar role` with grants, and a server of several workers that goes by them (contract 9.3). */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { rule } from '../../../server/test/contract/rule.ts'
import { start, temporaryDirectory } from '../../../server/test/executable/process.ts'

async function run(words: readonly string[], directory: string): Promise<string> {
  const { code, stdout, stderr } = await start(words, {}, directory).ended
  if (code !== 0) throw new Error(`${words.join(' ')}: ${stderr}`)
  return stdout
}

const text = (attributeName: string) => ({ attributeName, logicalType: 'string' })
const city = { className: 'City', isReferenceable: true, attributes: [text('name'), text('secret')] }
const shown = (name: string) => ({
  on: { kind: 'class', className: 'City' },
  actions: ['read', 'query'],
  hidden: ['secret'],
  rules: { read: `name = '${name}'` },
})

rule(['9.3.1', '9.3.3', '9.3.4', '9.3.6'], 'roles with grants by the commands, which all workers go by', async () => {
  const directory = temporaryDirectory()
  writeFileSync(join(directory, 'grants.json'), JSON.stringify([shown('Rome')]))
  writeFileSync(join(directory, 'wrong.json'), JSON.stringify([{ ...shown('Rome'), rules: { read: 'name = ' } }]))
  await expect(run(['role', 'add', 'guest', '--grants-file', 'wrong.json'], directory)).rejects.toThrow(
    /Role guest: Grant 1: rules\.read: Line 1, column/,
  )
  await expect(run(['role', 'add', 'guest'], directory)).rejects.toThrow(/at least one action or one grant/)
  expect(await run(['role', 'add', 'guest', '--grants-file', 'grants.json'], directory)).toBe(
    'Role guest is added: 1 grant.\n',
  )
  const role = JSON.parse(await run(['role', 'show', 'guest', '--json'], directory))
  expect(role).toEqual({ name: 'guest', actions: [], grants: [shown('Rome')], isBuiltIn: false, problems: [] })
  const { stderr } = await start(['role', 'show', 'guest'], {}, directory).ended
  expect(stderr).toMatch(
    /could not be checked against the federated database default: its store is not there\. With --url, a server that has it open checks them\.\n/,
  )
  await expect(run(['role', 'set', 'guest', '--grants-file', 'none.json'], directory)).rejects.toThrow(
    /The file with grants, none\.json, cannot be read: there is no such file;/,
  )
  await expect(run(['role', 'show', 'gest'], directory)).rejects.toThrow(/roles of your own are guest\./)
  const mistyped = await start(['user', 'add', 'ann', '--role', 'guest@defalt'], {}, directory).ended
  expect(mistyped.stderr).toMatch(/no federated database 'defalt' is in this configuration/)
  expect(await run(['role', 'list'], directory)).toMatch(/^guest +1\n/m)
  const server = start(['serve', '--auth', '--port', '0', '--workers', '2'], {}, directory)
  const url = await server.url
  const tokenOf = async (name: string): Promise<string> => {
    const made = JSON.parse(await run(['token', 'create', '--name', name, '--role', name, '--json'], directory))
    return `Bearer ${made.token}`
  }
  const [admin, guest] = [await tokenOf('admin'), await tokenOf('guest')]
  // Connections go to the workers in turn.
  const ask = async (authorization: string, path: string, body?: unknown): Promise<unknown> => {
    const headers = { authorization, connection: 'close', 'content-type': 'application/json' }
    const sent = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
    return (await fetch(`${url}${path}`, { headers, ...sent })).json()
  }
  await ask(admin, '/v1/schema', [city])
  const cities = ['Rome', 'Paris'].map((name) => ({ class: 'City', attributes: { name, secret: 'x' } }))
  await ask(admin, '/v1/object', cities)
  const seen = async () => {
    const asked = Array.from({ length: 6 }, () => ask(guest, '/v1/query', { query: 'FROM City RETURN *' }))
    const replies = (await Promise.all(asked)) as readonly (readonly { readonly name: string }[])[]
    return new Set(replies.map((rows) => rows.map((row) => [row.name, 'secret' in row].join()).join(' ')))
  }
  expect(await seen()).toEqual(new Set(['Rome,false']))
  writeFileSync(join(directory, 'role.json'), JSON.stringify({ ...role, grants: [shown('Paris')] }))
  expect(await run(['role', 'set', 'guest', '--grants-file', 'role.json'], directory)).toBe('Role guest: 1 grant.\n')
  await expect.poll(seen, { interval: 100 }).toEqual(new Set(['Paris,false']))
  expect(await run(['role', 'show', 'guest'], directory)).not.toContain('does not agree')
  await ask(admin, '/v1/query', { query: 'UPDATE SCHEMA { ALTER CLASS City { RENAME secret TO hidden } }' })
  // By the store itself, beside the server that has it open.
  expect(await run(['role', 'show', 'guest'], directory)).toContain(
    "- Grant 1, hidden in default: None of its classes has an attribute 'secret'.",
  )
  await expect
    .poll(() => server.log(), { interval: 100 })
    .toContain('Role guest, grant 1, hidden in default: None of its classes')
  await ask(admin, '/v1/query', { query: 'UPDATE SCHEMA { ALTER CLASS City { RENAME hidden TO secret } }' })
  expect(await run(['role', 'set', 'guest', 'read', '--no-grants'], directory)).toBe('Role guest: read.\n')
  await expect.poll(seen, { interval: 100 }).toEqual(new Set(['Rome,true Paris,true']))
  // Each worker tells of the statements of all, and a caller is told of its own.
  const asked = Array.from({ length: 4 }, () => ask(guest, '/v1/statement'))
  expect(await Promise.all(asked)).toEqual([[], [], [], []])
})
