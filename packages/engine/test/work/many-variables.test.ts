/** A text with very many variables: each statement costs what it uses, not what all of them are. */
import { expect, it } from 'vitest'
import { classOf, withFd } from '../engine/open-fd.ts'
import { rowValues } from '../row-texts.ts'

/** Entries that maps get while `act` runs, those that they are made of included. */
async function entriesMadeBy(act: () => Promise<unknown>): Promise<number> {
  const { set } = Map.prototype
  let entries = 0
  Map.prototype.set = function (this: Map<unknown, unknown>, ...given) {
    entries += 1
    return set.apply(this, given)
  }
  try {
    await act()
  } finally {
    Map.prototype.set = set
  }
  return entries
}

for (const [what, statement] of Object.entries({
  'from values': (i: number) => `LET x${i} = ${i}; `,
  'from each other': (i: number) => `LET x${i} = ${i === 0 ? '0' : `$x${i - 1} + 1`}; `,
  'from statements': (i: number) =>
    `LET x${i} = (FROM Part WHERE n IN ${i === 0 ? 'LIST {0}' : `$x${i - 1}`} RETURN n); `,
})) {
  it(`twice as many variables that are set ${what} cost about twice as much`, () =>
    withFd([classOf('Part', { n: 'integer' })], async (fd) => {
      const count = what === 'from statements' ? 100 : 400
      const ofSome = (many: number, name = 'x'): Promise<number> => {
        const lets = Array.from({ length: many }, (_, i) => statement(i).replaceAll('x', name)).join('')
        return entriesMadeBy(async () => rowValues(await fd.query({ text: `${lets}SHOW ${many}` })))
      }
      await ofSome(count, 'warm')
      const some = await ofSome(count, 'y')
      expect(await ofSome(2 * count, 'z')).toBeLessThan(2.5 * some)
    }))
}

it('a plan is made again where a variable that it uses has another type, and only then', () =>
  withFd([classOf('Part', { n: 'integer' })], async (fd) => {
    await fd.createObjects([1, 2].map((n) => ({ class: 'Part', attributes: { n } })))
    const text = `LET x = 1; LET all = ''; FOR EACH y IN LIST {1, 2} => (LET all = $all + 'a'; LET x = $x + $y); SHOW $x`
    expect(await rowValues(await fd.query({ text }))).toEqual(await rowValues(await fd.query({ text })))
    const uses = 'FROM Part WHERE n = $x RETURN n'
    for (const parameters of [{ x: 1 }, { x: 1, other: 'a' }, { x: 1.0, other: 2 }, { x: 2, other: [] }])
      expect(await rowValues(await fd.query({ text: uses, parameters }))).toEqual([{ n: parameters.x }])
    for (const parameters of [{ x: [] }, {}]) {
      const query = async () => fd.query({ text: uses, parameters })
      await expect(query()).rejects.toMatchObject({ type: 'QueryError' })
    }
    expect(await rowValues(await fd.query({ text: uses, parameters: { x: 1 } }))).toEqual([{ n: 1 }])
  }))
