/** Checks, defaults, updates and computed attributes against a plain model of them, over HTTP (contract 10.6). */
import fc from 'fast-check'
import { expect } from 'vitest'
import { classOf, embedded, type FdUnderTest, list } from './class-of.ts'
import { useFdPerTest } from './fd-per-test.ts'
import { rule } from './rule.ts'
import type { ServerUnderTest } from './server-under-test.ts'

let server: ServerUnderTest
let fd: FdUnderTest
useFdPerTest(async (given) => {
  ;({ server, fd } = given)
})

interface Values {
  readonly a: number | null
  readonly b: number | null
}

/** An expression of DO, and what it comes to; undefined where a value that it uses is null. */
interface Formula {
  readonly text: string
  value(values: Values): number | null
}

const leaf: fc.Arbitrary<Formula> = fc.oneof(
  fc.integer({ min: -5, max: 5 }).map((n) => ({ text: `(${n})`, value: () => n })),
  fc.constantFrom<Formula>({ text: 'a', value: ({ a }) => a }, { text: '`b`', value: ({ b }) => b }),
)

const calculate: Readonly<Record<string, (one: number, other: number) => number>> = {
  '+': (one, other) => one + other,
  '-': (one, other) => one - other,
  '*': (one, other) => one * other,
}

const { formula } = fc.letrec<{ formula: Formula }>((tie) => ({
  formula: fc.oneof(
    { depthSize: 'small' },
    leaf,
    fc
      .tuple(fc.constantFrom(...Object.keys(calculate)), tie('formula'), tie('formula'))
      .map(([operator, left, right]) => ({
        text: `(${left.text} ${operator} ${right.text})`,
        value: (values: Values) => {
          const [one, other] = [left.value(values), right.value(values)]
          return one === null || other === null ? null : (calculate[operator] as (typeof calculate)['+'])(one, other)
        },
      })),
  ),
}))

const value = fc.option(fc.integer({ min: -9, max: 9 }))
const values = fc.record({ a: value, b: value })

/** Zero and its negative are one integer. */
const plain = (number: number | null): number | null => (number === null ? null : number + 0)

const computedAs = (expression: string) => ({ computed: { expression } })

let classes = 0

rule(
  ['10.1.7', '10.6.2', '10.6.4', '10.6.8', '10.6.10', '10.6.11', '10.6.23', '10.6.24'],
  'objects are what a model says, with names that change',
  async () => {
    const property = fc.asyncProperty(
      fc.record({ checked: formula, computed: formula, stored: formula, given: formula, updated: formula }),
      fc.array(values, { minLength: 1, maxLength: 4 }),
      async ({ checked, computed, stored, given, updated }, states) => {
        const name = `C${classes++}`
        const integer = (more: object) => ({ logicalType: 'integer', storage: 'b64', ...more })
        const attributes = {
          ...{ a: integer({}), b: integer({}) },
          computed: integer(computedAs(computed.text)),
          stored: integer({ computed: { expression: stored.text, isStored: true } }),
          given: integer({ default: { expression: given.text } }),
          updated: integer({ onUpdate: { expression: updated.text } }),
        }
        const checks = [{ name: 'positive', expression: `${checked.text} > 0` }]
        const { updated: _, ...embeddable } = attributes
        const object = { logicalType: 'object', class: `${name}Part` }
        const holder = { ...attributes, part: object, parts: list(object), copy: integer(computedAs('part.stored')) }
        const defined = await fd.putSchema(
          classOf(object.class, embeddable, embedded),
          classOf(name, holder, { checks }),
        )
        const constant = /[ab]/.test(checked.text) ? undefined : checked.value({ a: null, b: null })
        const isRefused = constant !== undefined && constant !== null && constant <= 0
        expect(defined.status, defined.text).toBe(isRefused ? 422 : 201)
        if (isRefused) return
        for (const cls of [name, object.class]) {
          const renamed = await server.put(fd.at(`/v1/schema/${cls}`), {
            attributesToRename: [{ originalName: 'a', newName: 'select' }],
          })
          expect(renamed.status, renamed.text).toBe(201)
        }
        let oid: string | undefined
        let model: Record<string, unknown> = {}
        for (const state of states) {
          const part = { select: state.a, b: state.b }
          const body = { ...part, part, parts: [part, {}] }
          const reply = oid === undefined ? await fd.postObject(name, body) : await fd.putObject(oid, body)
          const held = checked.value(state)
          expect(reply.status, `${reply.text} ${checked.text}`).toBe(
            held !== null && held <= 0 ? 422 : oid === undefined ? 201 : 204,
          )
          if (reply.status !== 422) {
            const isNew = oid === undefined
            oid ??= reply.json.__identifier__ as string
            const before = isNew
              ? { given: plain(given.value(state)), updated: 0 }
              : { ...model, updated: plain(updated.value(state)) }
            const read = ({ a, b }: Values) => ({
              select: a,
              b,
              computed: plain(computed.value({ a, b })),
              stored: plain(stored.value({ a, b })),
            })
            const made = (values: Values) => ({ ...read(values), given: plain(given.value(values)) })
            model = {
              ...before,
              ...read(state),
              part: { ...made(state), ...(isNew ? {} : { given: (model.part as { given: unknown }).given }) },
              parts: [made(state), made({ a: 0, b: 0 })],
              copy: plain(stored.value(state)),
            }
          }
          if (oid !== undefined) expect(await fd.read(oid)).toMatchObject(model)
        }
      },
    )
    await fc.assert(property, { numRuns: 40 })
  },
)
