/** The files in `deploy/`: what they name exists, and their options are those of the server. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { settings } from '@ashlar/server/shared'
import { expect, it } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { start } from '../../../server/test/executable/process.ts'

const root = fileURLToPath(new URL('../../../..', import.meta.url))
const textOf = (file: string): string => readFileSync(join(root, 'deploy', file), 'utf8')
const filesEndingIn = (extension: string): string[] =>
  readdirSync(join(root, 'deploy'), { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith(extension))

interface Instruction {
  readonly word: string
  readonly rest: string
}
const dockerfile: readonly Instruction[] = textOf('Dockerfile')
  .split('\n')
  .flatMap((line) => {
    const [, word = '', rest = ''] = /^([A-Z]+) (.*)$/.exec(line) ?? []
    return word === '' ? [] : [{ word, rest }]
  })

function jsonOf(word: string): string[] {
  const rest = dockerfile.findLast((one) => one.word === word)?.rest ?? ''
  return JSON.parse(rest.slice(rest.indexOf('[')))
}

/** All strings in the documents of a file. */
function stringsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(stringsIn) : []
}

const manifests = filesEndingIn('.yaml').map((file) => {
  const documents = parseAllDocuments(textOf(file), { merge: true })
  expect(documents.flatMap(({ errors }) => errors)).toEqual([])
  return { file, strings: documents.flatMap((document) => stringsIn(document.toJS())) }
})

it('options are those of the server', () => {
  const known = new Set(settings.flatMap(({ option }) => option?.split(' ')[0] ?? []))
  const used = [...jsonOf('ENTRYPOINT'), ...jsonOf('CMD'), ...manifests.flatMap(({ strings }) => strings)]
  const options = used.flatMap((text) => /^--[a-z-]+/.exec(text)?.[0] ?? []).filter((option) => option !== '--username')
  expect(options.length).toBeGreaterThan(10)
  expect(options.filter((option) => !known.has(option))).toEqual([])
})

it('the image runs what is built, and its health check finds a server', async () => {
  expect(jsonOf('ENTRYPOINT').slice(0, 3)).toEqual(['/nodejs/bin/node', 'node_modules/ashlar/bin/ashlar.cjs', 'serve'])
  expect(existsSync(join(root, 'packages/ashlar/bin/ashlar.cjs'))).toBe(true)
  const probes = [...jsonOf('HEALTHCHECK'), ...manifests.flatMap(({ strings }) => strings)].flatMap(
    (text) => /\/health\/\w+/.exec(text)?.[0] ?? [],
  )
  expect(new Set(probes)).toEqual(new Set(['/health/ready', '/health/live']))
  const server = start(['serve', '--port', '0', '--workers', '0', ...jsonOf('CMD')])
  const url = await server.url
  for (const probe of new Set(probes)) expect((await fetch(`${url}${probe}`)).status).toBe(200)
  server.child.kill('SIGTERM')
  expect((await server.ended).code).toBe(0)
})

it('files that others name are there', () => {
  for (const { strings } of manifests) {
    for (const text of strings) {
      if (text.startsWith('./proxy/')) expect(existsSync(join(root, 'deploy', text.split(':')[0] as string))).toBe(true)
      if (text === 'deploy/Dockerfile') expect(existsSync(join(root, text))).toBe(true)
    }
  }
  const allowed = textOf('Dockerfile.dockerignore')
    .split('\n')
    .flatMap((line) => (line.startsWith('!') ? [line.slice(1)] : []))
  const { workspaces } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { workspaces: string[] }
  const isSent = (path: string): boolean => allowed.some((one) => path === one || path.startsWith(`${one}/`))
  expect(
    ['tools/set-up.mjs', ...workspaces.map((folder) => `${folder}/package.json`)].filter((path) => !isSent(path)),
  ).toEqual([])
})
