/** Tests that each house rule finds what breaks it, and leaves alone what does not. */
import { describe, expect, it } from 'vitest'
import { checkRules } from '../check-rules.ts'

const first = '/** Does one thing. */\n'

function messages(files: Record<string, string>, allowed?: Parameters<typeof checkRules>[1]): string[] {
  return checkRules(new Map(Object.entries(files)), allowed ?? new Map()).findings.map(({ message }) => message)
}

function functionOf(lines: number): string {
  return `${first}export function long() {\n${'  // step\n'.repeat(lines - 2)}}\n`
}

const path = 'packages/engine/src/bytes/a.ts'

describe('sizes', () => {
  it('refuses a file of 601 lines', () => {
    const small = Object.fromEntries(
      Array.from({ length: 20 }, (_, index) => [`packages/engine/src/${index}.ts`, first]),
    )
    expect(messages({ ...small, [path]: first + '\n'.repeat(599) })).toEqual([])
    expect(messages({ ...small, [path]: first + '\n'.repeat(600) })).toEqual(['601 lines: at most 600'])
  })

  it('refuses a median above 120 and a ninth decile above 350', () => {
    expect(messages({ [path]: first + '\n'.repeat(119) })).toEqual([])
    expect(messages({ [path]: first + '\n'.repeat(120) })).toEqual(['the median is 121 lines: at most 120'])
    const small = Object.fromEntries(
      Array.from({ length: 8 }, (_, index) => [`packages/engine/src/${index}.ts`, first]),
    )
    const large = {
      'packages/engine/src/x.ts': first + '\n'.repeat(350),
      'packages/engine/src/y.ts': first + '\n'.repeat(350),
    }
    expect(messages({ ...small, ...large })).toEqual(['the ninth decile is 351 lines: at most 350'])
  })

  it('refuses a function of 71 lines, whichever way it is written', () => {
    expect(messages({ [path]: functionOf(70) })).toEqual([])
    expect(messages({ [path]: functionOf(71) })).toEqual([`${path}#long has 71 lines: at most 70`])
    const body = '// step\n'.repeat(70)
    expect(messages({ [path]: `${first}export const f = () => {\n${body}}\n` })).toEqual([
      `${path}#f has 72 lines: at most 70`,
    ])
    expect(messages({ [path]: `${first}export class A {\n  m() {\n${body}  }\n}\n` })).toEqual([
      `${path}#m has 72 lines: at most 70`,
    ])
  })

  it('keeps the list of exceptions shrinking', () => {
    const allowed = (lines: number) => new Map([[`${path}#long`, { lines, reason: 'a table' }]])
    expect(messages({ [path]: functionOf(80) }, allowed(80))).toEqual([])
    expect(messages({ [path]: functionOf(81) }, allowed(80))).toEqual([`${path}#long has 81 lines: at most 80`])
    expect(messages({ [path]: functionOf(75) }, allowed(80))).toEqual([`lower the exception ${path}#long to 75 lines`])
    expect(messages({ [path]: first }, allowed(80))).toEqual([`lower the exception ${path}#long to 0 lines`])
    expect(messages({ [path]: functionOf(60) }, allowed(60))).toEqual([`remove the exception ${path}#long`])
  })
})

describe('words', () => {
  it('wants the responsibility at the top, after a shebang if there is one', () => {
    expect(messages({ [path]: `import 'a'\n${first}` })).toEqual([
      'begin with /** what this file is responsible for */',
    ])
    expect(messages({ [path]: `#!/usr/bin/env node\n${first}` })).toEqual([])
    expect(messages({ [path]: '/**\n * Does one thing, which\n * takes two lines to say.\n */\n' })).toEqual([])
    expect(messages({ [path]: '/** */\n' })).toEqual(['begin with /** what this file is responsible for */'])
  })

  it('refuses names without a subject', () => {
    expect(messages({ 'packages/engine/src/utils/a.ts': first })).toHaveLength(1)
    expect(messages({ 'packages/engine/src/index-manager.ts': first })).toHaveLength(1)
    expect(messages({ 'packages/engine/src/commonality.ts': first })).toEqual([])
  })

  it('refuses unfinished work without an issue number', () => {
    expect(messages({ [path]: `${first}// TODO: faster\n` })).toEqual(['unfinished work needs an issue number: (#12)'])
    expect(messages({ [path]: `${first}// TODO (#12): faster\n/* FIXME #3 */\nexport const a = 'TODO'\n` })).toEqual([])
  })

  it('refuses any', () => {
    expect(messages({ [path]: `${first}export let a: Map<string, any>\n` })).toHaveLength(1)
    expect(messages({ [path]: `${first}export const any = 1 // any\n` })).toEqual([])
  })

  it('refuses failed assertions that are not made by assert or unreachable', () => {
    const refused = ['use assert or unreachable of errors.ts']
    expect(messages({ [path]: `${first}throw new Error('assertion failed: x')\n` })).toEqual(refused)
    expect(messages({ [path]: `${first}throw new Error(\`assertion failed: ${'$'}{1}\`)\n` })).toEqual(refused)
    expect(messages({ [path]: `${first}throw new AssertionFailed('x')\n` })).toEqual(refused)
    expect(messages({ [path]: `${first}// assertion failed\nassert(true, 'the assertion failed')\n` })).toEqual([])
    const errors = 'packages/engine/src/errors.ts'
    expect(messages({ [errors]: `${first}throw new AssertionFailed('assertion failed')\n` })).toEqual([])
    expect(messages({ 'packages/engine/test/a.ts': `${first}throw new Error('assertion failed')\n` })).toEqual([])
  })

  it('refuses routes and parameters of URLs in the engine', () => {
    const refused = ['names a route: the engine knows no HTTP']
    expect(messages({ [path]: `${first}// PUT /v1/schema\n` })).toEqual(refused)
    expect(messages({ [path]: `${first}export const uri = '/v1/index'\n` })).toEqual(refused)
    expect(messages({ [path]: `${first}throw new Error('with ?cascade=true')\n` })).toEqual(refused)
    expect(messages({ [path]: `${first}// a /v1x, and which? explain\n` })).toEqual([])
    expect(messages({ 'packages/server/src/a.ts': `${first}// PUT /v1/schema?dryRun=true\n` })).toEqual([])
  })

  it('refuses what ties the project to one place, in any file', () => {
    // Put together here, so that this file itself stays free of them.
    const words = [
      ['..', 'shared', 'x'],
      ['', 'work', 'x'],
      ['', 'home', 'me'],
      ['see registry', 'npmjs', 'org'],
    ]
    for (const [index, parts] of words.entries()) {
      const text = parts.join(index === 3 ? '.' : '/')
      expect(messages({ 'docs/a.md': `See ${text}.\n` }), text).toHaveLength(1)
      expect(messages({ 'package-lock.json': text })).toEqual([])
    }
    expect(messages({ 'docs/a.md': 'the tests in test/work/plan.test.ts, ./work/x and GET /workers\n' })).toEqual([])
  })
})
