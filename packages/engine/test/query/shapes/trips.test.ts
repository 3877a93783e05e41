/** How often a statement with shapes reads, where each read is a trip: as often for many objects as for few. */
import { expect, it } from 'vitest'
import { openStoreOfRun } from '../../store/store-of-run.ts'
import { counting } from '../counted-trips.ts'
import { openQueryDatabase } from '../query-database.ts'
import { shopSchema } from '../shop.ts'

const fill = `FOR EACH c IN $clients => (CREATE Client {name: $c.name, orders: LIST{
  CREATE Order {number: $c.number, total: 1.5, items: LIST{CREATE Item {title: 'pen'}, CREATE Item {title: 'ink'}}},
  CREATE Order {number: $c.number + 1, total: 2.5, items: LIST{CREATE Item {title: 'cap'}}}}})`

const text = `FROM Client ORDER BY name RETURN name, orders{number, client{name}, items{title} ORDER BY total DESC} AS orders,
  orders[0].items{title, price} AS first`

it('a shape takes as many trips for many objects as for few', async () => {
  const counted = counting(await openStoreOfRun())
  const { db, close } = await openQueryDatabase([shopSchema], { store: counted.store })
  const tripsOf = async (clients: number): Promise<number> => {
    await db.rows('DELETE Client; DELETE Order')
    const parameters = { clients: Array.from({ length: clients }, (_, i) => ({ name: `c${i}`, number: i * 10 })) }
    await db.rows(fill, parameters)
    counted.trips = 0
    const rows = await db.rows(text)
    expect(rows).toHaveLength(clients)
    expect(rows[0]).toEqual({
      name: 'c0',
      orders: [
        { number: 1, client: { name: 'c0' }, items: [{ title: 'cap' }] },
        { number: 0, client: { name: 'c0' }, items: [{ title: 'pen' }, { title: 'ink' }] },
      ],
      first: [
        { title: 'pen', price: 0 },
        { title: 'ink', price: 0 },
      ],
    })
    return counted.trips
  }
  const ofFew = await tripsOf(2)
  expect(await tripsOf(60)).toBe(ofFew)
  // Containers and objects of the class; entries of the lists, the orders, and their items with their clients.
  expect(ofFew).toBeLessThanOrEqual(7)
  await close()
})
