/** Bidirectional links, over HTTP. */
import { afterAll, beforeAll, expect } from 'vitest'
import { classOf, FdUnderTest, list, reference, set } from './class-of.ts'
import { expectProblem } from './expectations.ts'
import { rule } from './rule.ts'
import { type ServerUnderTest, startServer } from './server-under-test.ts'

const none = '0-0-0-0'
let server: ServerUnderTest
let fd: FdUnderTest

beforeAll(async () => {
  server = await startServer({ words: ['--fd', 'links'] })
  fd = new FdUnderTest(server, 'links')
  await fd.define(
    classOf('Stall', { vehicle: reference('Vehicle', 'stall') }),
    classOf('Vehicle', {
      stall: reference('Stall', 'vehicle'),
      model: reference('Model', 'vehicles'),
      group: reference('Group', 'members'),
    }),
    classOf('Model', { vehicles: list(reference('Vehicle', 'model')), tags: list(reference('Tag', 'models')) }),
    classOf('Group', { members: set(reference('Vehicle', 'group')), tags: set(reference('Tag', 'groups')) }),
    classOf('Tag', { models: list(reference('Model', 'tags')), groups: list(reference('Group', 'tags')) }),
    classOf('Node', { spouse: reference('Node', 'spouse'), peers: list(reference('Node', 'peers')) }),
  )
})
afterAll(() => server.remove())

const make = (className: string, attributes = {}) => fd.create(className, attributes)

rule(['4.4.2', '4.4.3'], '1–1: either side sets and clears both; a taken partner is let go', async () => {
  const stall = await make('Stall')
  const vehicle = await make('Vehicle', { stall })
  expect((await fd.read(stall)).vehicle).toBe(vehicle)
  const other = await make('Vehicle')
  await fd.update(stall, { vehicle: other })
  expect([(await fd.read(vehicle)).stall, (await fd.read(other)).stall]).toEqual([none, stall])
  const second = await make('Stall', { vehicle: other })
  expect([(await fd.read(stall)).vehicle, (await fd.read(other)).stall]).toEqual([none, second])
  await fd.update(other, { stall: null })
  expect((await fd.read(second)).vehicle).toBe(none)
  const [one, two, three] = [await make('Node'), await make('Node'), await make('Node')]
  await fd.update(one, { spouse: two })
  expect((await fd.read(two)).spouse).toBe(one)
  await fd.update(three, { spouse: two })
  expect([(await fd.read(one)).spouse, (await fd.read(two)).spouse, (await fd.read(three)).spouse]).toEqual([
    none,
    three,
    two,
  ])
  await fd.update(one, { spouse: one })
  expect((await fd.read(one)).spouse).toBe(one)
})

rule(['4.4.2', '4.4.4'], '1–n: from both sides, leaving previous partners', async () => {
  const [m1, m2] = [await make('Model'), await make('Model')]
  const [a, b, c] = [
    await make('Vehicle', { model: m1 }),
    await make('Vehicle', { model: m1 }),
    await make('Vehicle', { model: m2 }),
  ]
  expect((await fd.read(m1)).vehicles).toEqual([a, b])
  await fd.update(a, { model: m2 })
  expect([(await fd.read(m1)).vehicles, (await fd.read(m2)).vehicles]).toEqual([[b], [c, a]])
  await fd.update(m1, { vehicles: { action: 'add', elements: [c, b, c] } })
  expect([(await fd.read(m1)).vehicles, (await fd.read(m2)).vehicles, (await fd.read(c)).model]).toEqual([
    [b, c],
    [a],
    m1,
  ])
  await fd.update(m1, { vehicles: [c, a, b] })
  expect([(await fd.read(m1)).vehicles, (await fd.read(m2)).vehicles]).toEqual([[c, a, b], []])
  await fd.update(m1, { vehicles: { action: 'remove', elements: [a] } })
  expect([(await fd.read(m1)).vehicles, (await fd.read(a)).model]).toEqual([[c, b], none])
  await fd.update(m1, { vehicles: [] })
  expect([(await fd.read(b)).model, (await fd.read(c)).model]).toEqual([none, none])
  const group = await make('Group', { members: [b, a] })
  expect([(await fd.read(group)).members, (await fd.read(a)).group]).toEqual([[a, b], group])
  await fd.update(a, { group: null })
  expect((await fd.read(group)).members).toEqual([b])
})

rule(['4.4.2', '4.4.5', '4.4.9'], 'n–n: both sides hold each other, once', async () => {
  const [m1, m2] = [await make('Model'), await make('Model')]
  const tag = await make('Tag', { models: [m1, m2, m1] })
  expect([(await fd.read(tag)).models, (await fd.read(m1)).tags, (await fd.read(m2)).tags]).toEqual([
    [m1, m2],
    [tag],
    [tag],
  ])
  await fd.update(m1, { tags: { action: 'add', elements: [tag] } })
  expect([(await fd.read(tag)).models, (await fd.read(m1)).tags]).toEqual([[m1, m2], [tag]])
  await fd.update(tag, { models: [m2, m1] })
  expect([(await fd.read(tag)).models, (await fd.read(m1)).tags]).toEqual([[m2, m1], [tag]])
  await fd.update(m2, { tags: { action: 'remove', elements: [tag] } })
  expect((await fd.read(tag)).models).toEqual([m1])
  const group = await make('Group', { tags: [tag] })
  expect((await fd.read(tag)).groups).toEqual([group])
  await fd.update(group, { tags: null })
  expect((await fd.read(tag)).groups).toEqual([])
  const [x, y] = [await make('Node'), await make('Node')]
  await fd.update(x, { peers: [y, x] })
  expect([(await fd.read(x)).peers.sort(), (await fd.read(y)).peers]).toEqual([[x, y].sort(), [x]])
})

rule('4.4.6', 'deleting an object removes it from every bidirectional link', async () => {
  const [stall, model, group] = [await make('Stall'), await make('Model'), await make('Group')]
  const vehicle = await make('Vehicle', { stall, model, group })
  const tag = await make('Tag', { models: [model], groups: [group] })
  await fd.remove(vehicle)
  expect((await fd.read(stall)).vehicle).toBe(none)
  expect([(await fd.read(model)).vehicles, (await fd.read(group)).members]).toEqual([[], []])
  await fd.remove(tag)
  expect([(await fd.read(model)).tags, (await fd.read(group)).tags]).toEqual([[], []])
  const child = await make('Vehicle', { model, group })
  await fd.remove(model)
  await fd.remove(group)
  expect([(await fd.read(child)).model, (await fd.read(child)).group]).toEqual([none, none])
})

rule('4.4.8', '32 writers linking to one hub: none fails, none is lost', async () => {
  const hub = await make('Model')
  const rounds = 5
  const made: string[] = []
  for (let round = 0; round < rounds; round++) {
    made.push(...(await Promise.all(Array.from({ length: 32 }, () => make('Vehicle', { model: hub })))))
  }
  expect((await fd.read(hub)).vehicles.sort()).toEqual(made.sort())
})

rule('4.4.1', 'a bidirectional reference to what does not exist changes nothing on either side', async () => {
  const model = await make('Model')
  const vehicle = await make('Vehicle', { model })
  expectProblem(await fd.putObject(vehicle, { model: null, stall: '3-3-60000-1' }), 422, 'InvalidReference')
  expect([(await fd.read(vehicle)).model, (await fd.read(model)).vehicles]).toEqual([model, [vehicle]])
  expectProblem(await fd.putObject(model, { vehicles: [vehicle, null] }), 422)
})

rule('4.4.11', 'links of subclasses', async () => {
  await fd.define(classOf('Truck', {}, { superClass: 'Vehicle' }), classOf('Brand', {}, { superClass: 'Model' }))
  const [brand, stall] = [await make('Brand'), await make('Stall')]
  const truck = await make('Truck', { model: brand, stall })
  expect([(await fd.read(brand)).vehicles, (await fd.read(stall)).vehicle]).toEqual([[truck], truck])
  const car = await make('Vehicle')
  await fd.update(brand, { vehicles: { action: 'add', elements: [car] } })
  expect((await fd.read(car)).model).toBe(brand)
  await fd.remove(truck)
  expect([(await fd.read(brand)).vehicles, (await fd.read(stall)).vehicle]).toEqual([[car], none])
})

rule(['4.4.2', '4.4.6'], 'an object linked to itself', async () => {
  const one = await make('Node')
  await fd.update(one, { spouse: one, peers: [one] })
  expect(await fd.read(one)).toMatchObject({ spouse: one, peers: [one] })
  const two = await make('Node', { spouse: one, peers: [one] })
  expect(await fd.read(one)).toMatchObject({ spouse: two, peers: [one, two] })
  await fd.remove(one)
  expect(await fd.read(two)).toMatchObject({ spouse: none, peers: [] })
})

rule(['4.4.2', '1.4.4'], 'both sides of one link in one request, and in one that fails', async () => {
  const [m1, m2] = [await make('Model'), await make('Model')]
  const a = await make('Vehicle', { model: m1 })
  expectProblem(await fd.putObject(m2, { vehicles: [a], tags: ['3-3-60000-1'] }), 422, 'InvalidReference')
  expect([(await fd.read(m1)).vehicles, (await fd.read(m2)).vehicles, (await fd.read(a)).model]).toEqual([[a], [], m1])
  const b = await make('Node')
  const c = await make('Node', { spouse: b, peers: [b] })
  await fd.update(b, { spouse: null, peers: [c, b] })
  expect(await fd.read(c)).toMatchObject({ spouse: none, peers: [b] })
  expect((await fd.read(b)).peers.sort()).toEqual([b, c].sort())
})
