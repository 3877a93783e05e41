/** The representation of all classes of a catalog, cached and shared by all callers; yields while it is made. */
import type { Catalog } from '../schema/catalog.ts'
import { type ClassRepresentation, representClass } from '../schema/representation.ts'
import { openTimeSlice } from '../store/time-slice.ts'

interface ListedClasses {
  /** By class number, without deleted ones. */
  readonly classes: readonly ClassRepresentation[]
  /** The same as JSON text in UTF-8. */
  readonly json: Buffer
}

const lists = new WeakMap<Catalog, Promise<ListedClasses>>()

export function listClasses(catalog: Catalog): Promise<ListedClasses> {
  let list = lists.get(catalog)
  if (list === undefined) {
    list = makeList(catalog)
    lists.set(catalog, list)
  }
  return list
}

async function makeList(catalog: Catalog): Promise<ListedClasses> {
  const slice = openTimeSlice()
  const classes: ClassRepresentation[] = []
  const texts: Buffer[] = []
  for (const cls of catalog.classes) {
    const representation = representClass(cls, catalog)
    classes.push(representation)
    texts.push(Buffer.from(`${texts.length === 0 ? '' : ','}${JSON.stringify(representation)}`))
    await slice.yieldIfDue()
  }
  return { classes, json: Buffer.concat([Buffer.from('['), ...texts, Buffer.from(']')]) }
}
