/** Random changes of links, one at a time and together, against a model of the checks that count them (contract 10.6.21, 10.6.22). */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { AshlarError } from '../../src/errors.ts'
import type { FederatedDatabase } from '../../src/federated-database.ts'
import { runs } from '../bytes/property-runs.ts'
import { classOf, read, toMany, toOne, withFd } from '../engine/open-fd.ts'

/** A check, and whether a ship satisfies it. */
interface Check {
  readonly expression: string
  isKept(ship: Ship): boolean
}

interface Ship {
  readonly oid: string
  readonly seats: number
  readonly crew: ReadonlySet<string>
}

type Fleet = ReadonlyMap<string, Ship>

const limit = fc.nat(3)
const check: fc.Arbitrary<Check> = fc.oneof(
  limit.map((n) => ({ expression: `COUNT(crew) <= ${n}`, isKept: ({ crew }: Ship) => crew.size <= n })),
  limit.map((n) => ({
    expression: `seats = 0 OR LENGTH(crew) >= ${n}`,
    isKept: ({ crew, seats }: Ship) => seats === 0 || crew.size >= n,
  })),
  limit.map((n) => ({ expression: `${n} != COUNT(crew)`, isKept: ({ crew }: Ship) => crew.size !== n })),
  fc.constant({ expression: 'COUNT(crew) <= seats', isKept: ({ crew, seats }: Ship) => crew.size <= seats }),
  fc.constant({ expression: 'COUNT(crew) % 2 = 0', isKept: ({ crew }: Ship) => crew.size % 2 === 0 }),
)

const crew = fc.uniqueArray(fc.nat(5), { maxLength: 4 })
const ship = fc.nat(3)
const change = fc.oneof(
  fc.record({ kind: fc.constant('create' as const), seats: limit, crew }),
  fc.record({ kind: fc.constant('crew' as const), ship, crew, action: fc.constantFrom('override', 'add', 'remove') }),
  fc.record({ kind: fc.constant('seats' as const), ship, seats: limit }),
  fc.record({ kind: fc.constant('move' as const), sailor: fc.nat(5), ship: fc.option(ship) }),
  fc.record({ kind: fc.constant('hire' as const), ship }),
  fc.record({ kind: fc.constant('dismiss' as const), sailor: fc.nat(5) }),
  fc.record({ kind: fc.constant('sink' as const), ship }),
)
type Change = typeof change extends fc.Arbitrary<infer C> ? C : never
type Step = Pick<FederatedDatabase, 'createObject' | 'updateObject' | 'deleteObject'>

/** What there is after some changes of a transaction. */
class Trial {
  readonly ships: Map<string, Ship>
  readonly sailors: string[]

  constructor(ships: Fleet, sailors: readonly string[]) {
    this.ships = new Map(ships)
    this.sailors = [...sailors]
  }

  async make(step: Step, change: Change): Promise<void> {
    if (change.kind === 'create') return this.create(step, change.seats, change.crew)
    if (change.kind === 'dismiss') return this.dismiss(step, this.sailors[change.sailor])
    const at = 'ship' in change && change.ship !== null ? [...this.ships.values()][change.ship] : undefined
    if (change.kind === 'move') return this.move(step, this.sailors[change.sailor], at)
    if (at === undefined) return
    if (change.kind === 'hire') return this.hire(step, at)
    if (change.kind === 'crew') return this.change(step, at, change.action, change.crew)
    if (change.kind === 'sink') {
      await step.deleteObject(at.oid)
      this.ships.delete(at.oid)
      return
    }
    await step.updateObject(at.oid, { seats: change.seats })
    this.ships.set(at.oid, { ...at, seats: change.seats })
  }

  private async create(step: Step, seats: number, crew: readonly number[]): Promise<void> {
    const sailors = this.named(crew)
    const oid = await step.createObject('Ship', { seats, crew: sailors })
    for (const sailor of sailors) this.place(sailor, undefined)
    this.ships.set(oid, { oid, seats, crew: new Set(sailors) })
  }

  private async change(step: Step, at: Ship, action: string, crew: readonly number[]): Promise<void> {
    const sailors = this.named(crew)
    await step.updateObject(at.oid, { crew: { action, elements: sailors } })
    for (const sailor of at.crew) {
      const isNamed = sailors.includes(sailor)
      if ((action === 'override' && !isNamed) || (action === 'remove' && isNamed)) this.place(sailor, undefined)
    }
    if (action !== 'remove') for (const sailor of sailors) this.place(sailor, at.oid)
  }

  private async move(step: Step, sailor: string | undefined, to: Ship | undefined): Promise<void> {
    if (sailor === undefined) return
    await step.updateObject(sailor, { ship: to?.oid ?? null })
    this.place(sailor, to?.oid)
  }

  private async hire(step: Step, at: Ship): Promise<void> {
    const sailor = await step.createObject('Sailor', { ship: at.oid })
    this.sailors.push(sailor)
    this.place(sailor, at.oid)
  }

  private async dismiss(step: Step, sailor: string | undefined): Promise<void> {
    if (sailor === undefined) return
    await step.deleteObject(sailor)
    this.place(sailor, undefined)
    this.sailors.splice(this.sailors.indexOf(sailor), 1)
  }

  private named(crew: readonly number[]): string[] {
    return crew.flatMap((i) => this.sailors[i] ?? [])
  }

  private place(sailor: string, to: string | undefined): void {
    for (const one of this.ships.values()) {
      const others = [...one.crew].filter((other) => other !== sailor)
      this.ships.set(one.oid, { ...one, crew: new Set(one.oid === to ? [...others, sailor] : others) })
    }
  }
}

async function isRefused(act: Promise<unknown>): Promise<boolean> {
  try {
    await act
    return false
  } catch (thrown) {
    const error = thrown instanceof AshlarError ? thrown : (thrown as Error).cause
    if (!(error instanceof AshlarError) || error.type !== 'ConstraintViolation') throw thrown
    return true
  }
}

it('changes of links are refused exactly if a ship breaks a check in the end', async () => {
  const given = fc.record({
    checks: fc.array(check, { minLength: 1, maxLength: 2 }),
    isSet: fc.boolean(),
    transactions: fc.array(fc.array(change, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 15 }),
  })
  const property = fc.asyncProperty(given, async ({ checks, isSet, transactions }) => {
    const many = toMany('Sailor', 'ship')
    const crew = isSet ? { ...many, logicalType: 'set', collectionTypeName: 'TreeSetOfReferences' } : many
    const named = checks.map(({ expression }, i) => ({ name: `c${i}`, expression }))
    const classes = [
      classOf('Ship', { seats: 'integer', crew }, { checks: named.slice(1) }),
      classOf('Sailor', { ship: toOne('Ship', 'crew') }),
    ]
    await withFd(classes, async (fd) => {
      await fd.alterClass('Ship', { classFields: { checks: named } })
      let ships: Fleet = new Map()
      let sailors: readonly string[] = await fd.createObjects(
        Array.from({ length: 5 }, () => ({ class: 'Sailor', attributes: {} })),
      )
      for (const changes of transactions) {
        let trial = new Trial(ships, sailors)
        const [only] = changes.length === 1 ? changes : []
        const act = async (): Promise<unknown> => {
          if (only !== undefined) return trial.make(fd, only)
          return fd.transaction(async (step) => {
            trial = new Trial(ships, sailors)
            for (const [i, one] of changes.entries()) await trial.make(step(i + 1), one)
          }, true)
        }
        const wasRefused = await isRefused(act())
        if (wasRefused && only !== undefined) await trial.make(dry, only)
        const all = [...trial.ships.values()]
        expect(wasRefused).toBe(all.some((one) => checks.some(({ isKept }) => !isKept(one))))
        if (!wasRefused) ({ ships, sailors } = trial)
        for (const { oid, crew } of ships.values())
          expect(new Set((await read(fd, oid)).crew as string[])).toEqual(crew)
      }
    })
  })
  await fc.assert(property, runs(100))
})

/** For changes that were refused at once: only the model makes them. */
const dry: Step = {
  createObject: async () => 'refused' as never,
  updateObject: async () => undefined as never,
  deleteObject: async () => undefined,
}
