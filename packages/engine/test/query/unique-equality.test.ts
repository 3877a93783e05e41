/** Equality on all attributes of a unique index reads the entries with those very keys; where keys do not tell objects apart, a range. */

import { expect, it } from 'vitest'
import type { FederatedDatabase } from '../../src/federated-database.ts'
import { classOf, index, toOne, withFd } from '../engine/open-fd.ts'
import { rowValues } from '../row-texts.ts'

const classes = [classOf('Hub', {}), classOf('Car', { license: 'string', n: 'integer', hub: toOne('Hub') })]
const longText = 'x'.repeat(3_000)

async function numbersOf(fd: FederatedDatabase, where: string, parameters: Record<string, unknown> = {}) {
  const reply = await fd.query({ text: `FROM Car WHERE ${where} ORDER BY n RETURN n`, parameters })
  return ((await rowValues(reply)) as { n: number }[]).map(({ n }) => n)
}

it('finds one object a key, in lists of any length', async () => {
  await withFd(classes, async (fd) => {
    await fd.createIndex(index('byLicense', 'Car', true, 'license'))
    const numbers = Array.from({ length: 600 }, (_, n) => n)
    await fd.createObjects(numbers.map((n) => ({ class: 'Car', attributes: { license: `L${n}`, n } })))
    expect(await numbersOf(fd, "license = 'L7'")).toEqual([7])
    expect(await numbersOf(fd, "license = 'L'")).toEqual([])
    const licenses = numbers.filter((n) => n % 2 === 0).map((n) => `L${n}`)
    expect(await numbersOf(fd, 'license IN $licenses', { licenses: [...licenses, 'none', 'L0'] })).toEqual(
      numbers.filter((n) => n % 2 === 0),
    )
  })
})

it('finds every object where texts are cut, and where null and 0-0-0-0 do not count', async () => {
  await withFd(classes, async (fd) => {
    const keyAttributes = [{ attributeName: 'license', properties: { maxStoredStringLength: 3 } }]
    await fd.createIndex({ name: 'byLicense', indexedClass: 'Car', isUnique: true, keyAttributes })
    await fd.createIndex(index('byHub', 'Car', true, 'hub'))
    await fd.createIndex(index('byNumberAndHub', 'Car', true, 'n', 'hub'))
    const [hub] = await fd.createObjects([{ class: 'Hub', attributes: {} }])
    const cars = ['abc', 'abcd', 'abce', longText, `${longText}y`, null, null]
    await fd.createObjects(cars.map((license, n) => ({ class: 'Car', attributes: { license, n } })))
    await fd.createObjects([{ class: 'Car', attributes: { license: 'last', n: 9, hub } }])
    expect(await numbersOf(fd, "license = 'abc'")).toEqual([0])
    expect(await numbersOf(fd, "license = 'abcd'")).toEqual([1])
    expect(await numbersOf(fd, 'license = $text', { text: `${longText}y` })).toEqual([4])
    expect(await numbersOf(fd, "license IN LIST{'abc', 'abce', 'ab'}")).toEqual([0, 2])
    expect(await numbersOf(fd, 'hub = $hub', { hub })).toEqual([9])
    expect(await numbersOf(fd, 'n = 9 AND hub = $hub', { hub })).toEqual([9])
    expect(await numbersOf(fd, 'hub = $none', { none: '0-0-0-0' })).toEqual(await numbersOf(fd, 'n < 9'))
    expect(await numbersOf(fd, 'n = 3 AND hub = $none', { none: '0-0-0-0' })).toEqual([3])
  })
})
