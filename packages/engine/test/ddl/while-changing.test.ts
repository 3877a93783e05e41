/** What others may do while the type of an attribute is being changed: only what they write is held against the new type. */
import { expect, it } from 'vitest'
import { catalogVersionKey } from '../../src/bytes/key-space.ts'
import { FederatedDatabase } from '../../src/federated-database.ts'
import type { Commit, SnapshotOptions, Store } from '../../src/store/store.ts'
import { classOf, index, outcome, read } from '../engine/open-fd.ts'
import { openStoreOfRun } from '../store/store-of-run.ts'

/** Holds up the commit that ends a change of types: by then writers know of it, values are counted and indexes built. */
class Gate implements Store {
  readonly capabilities: Store['capabilities']
  readonly reached: Promise<void>
  private readonly store: Store
  private catalogCommits = 0
  private opened!: () => void
  private tellReached!: () => void
  private readonly open = new Promise<void>((resolve) => {
    this.opened = resolve
  })

  constructor(store: Store) {
    this.store = store
    this.capabilities = store.capabilities
    this.reached = new Promise((resolve) => {
      this.tellReached = resolve
    })
  }

  release(): void {
    this.opened()
  }

  commit = async (commit: Commit) => {
    const isOfCatalog = [...commit.changes].some(({ key }) => Buffer.compare(key, catalogVersionKey) === 0)
    if (isOfCatalog && ++this.catalogCommits === 2) {
      this.tellReached()
      await this.open
    }
    return this.store.commit(commit)
  }

  snapshot = (options?: SnapshotOptions) => this.store.snapshot(options)
  stats = () => this.store.stats()
  close = async () => {}
}

const toWhole = { attributesToChange: [{ attributeName: 'note', logicalType: 'integer' }] }

interface Changing {
  readonly fd: FederatedDatabase
  /** Lets the change go on; its outcome. */
  end(): Promise<string>
}

/** `note` of class Note is being changed from string to integer by another process. */
async function whileChanging(
  prepare: (fd: FederatedDatabase) => Promise<void>,
  change: object | ((changer: FederatedDatabase) => Promise<unknown>),
  use: (changing: Changing) => Promise<void>,
  className = 'Note',
): Promise<void> {
  const store = await openStoreOfRun()
  const fd = await FederatedDatabase.open({ alias: 'writer', store })
  const texts = { logicalType: 'list', elementSpecification: { logicalType: 'string' } }
  const part = classOf('Part', { note: 'string' }, { isReferenceable: false })
  await fd.defineClasses([classOf('Note', { note: 'string', title: 'string', texts }), part], 'create')
  await prepare(fd)
  const gate = new Gate(store)
  const changer = await FederatedDatabase.open({ alias: 'changer', store: gate })
  const work = outcome(typeof change === 'function' ? change(changer) : changer.alterClass(className, change))
  await gate.reached
  const end = (): Promise<string> => {
    gate.release()
    return work
  }
  await use({ fd, end })
  await end()
  expect((await fd.verify()).problems).toEqual([])
  await changer.close()
  await fd.close()
}

it('another attribute of an object whose value does not fit is changed', async () => {
  const oids: string[] = []
  await whileChanging(
    async (fd) => void oids.push(await fd.createObject('Note', { note: 'seven', title: 'a' })),
    toWhole,
    async ({ fd, end }) => {
      const [oid = ''] = oids
      expect(await outcome(fd.updateObject(oid, { title: 'b' }))).toBe('ok')
      expect(await outcome(fd.updateObject(oid, { note: 'seven', title: 'c' }))).toBe('ok')
      expect(await outcome(fd.updateObject(oid, { note: 'eight' }))).toBe('ValueNotAllowed')
      expect(await outcome(fd.updateObject(oid, { note: '' }))).toBe('ValueNotAllowed')
      expect(await outcome(fd.createObject('Note', { note: 'nine' }))).toBe('ValueNotAllowed')
      expect(await outcome(fd.createObject('Note', { title: 'default' }))).toBe('ok')
      expect(await end()).toBe('ValuesWouldBeLost')
      expect(await read(fd, oid)).toMatchObject({ note: 'seven', title: 'c' })
    },
  )
})

it('an element of a list that does not fit stays, and none is added', async () => {
  const toWholes = {
    attributesToChange: [
      { attributeName: 'texts', logicalType: 'list', elementSpecification: { logicalType: 'integer' } },
    ],
  }
  const oids: string[] = []
  await whileChanging(
    async (fd) => void oids.push(await fd.createObject('Note', { texts: ['x', '1'] })),
    toWholes,
    async ({ fd, end }) => {
      const [oid = ''] = oids
      expect(await outcome(fd.updateObject(oid, { texts: { action: 'add', elements: ['2'] } }))).toBe('ok')
      expect(await outcome(fd.updateObject(oid, { texts: { action: 'add', elements: ['y'] } }))).toBe('ValueNotAllowed')
      expect(await end()).toBe('ValuesWouldBeLost')
      expect(await read(fd, oid)).toMatchObject({ texts: ['x', '1', '2'] })
    },
  )
})

async function withUniqueNote(fd: FederatedDatabase): Promise<void> {
  await fd.createIndex(index('byNote', 'Note', true, 'note'))
  await fd.createObject('Note', { note: '7' })
}

it('what is unique under the type in force is taken, and the change fails', async () => {
  await whileChanging(withUniqueNote, toWhole, async ({ fd, end }) => {
    expect(await outcome(fd.createObject('Note', { note: '7' }))).toBe('UniqueViolation')
    const oid = await fd.createObject('Note', { note: ' 7' })
    expect(await outcome(fd.updateObject(oid, { title: 'changed' }))).toBe('ok')
    const other = await fd.createObject('Note', { note: '8' })
    expect(await outcome(fd.updateObject(other, { note: '7 ' }))).toBe('ok')
    await fd.deleteObject(other)
    expect(await end()).toBe('UniqueViolation')
    expect(await outcome(fd.createObject('Note', { note: '7 ' }))).toBe('ok')
    expect(await fd.readIndex('byNote')).toMatchObject({ state: 'ready', entryCount: 3 })
  })
})

it('what is unique under both types is taken, and found once the type has changed', async () => {
  await whileChanging(withUniqueNote, toWhole, async ({ fd, end }) => {
    const oid = await fd.createObject('Note', { note: ' 9' })
    await fd.updateObject(oid, { note: '10' })
    expect(await end()).toBe('ok')
    expect(await read(fd, oid)).toMatchObject({ note: 10 })
    expect(await fd.readIndex('byNote')).toMatchObject({ state: 'ready', entryCount: 2 })
    expect(await outcome(fd.createObject('Note', { note: 10 }))).toBe('UniqueViolation')
  })
})

const longer = { attributesToConstrain: [{ attributeName: 'note', minLength: 2, maxLength: 9 }] }

it('what is written is held against a constraint to come, and an object that violates it may stay', async () => {
  const oids: string[] = []
  await whileChanging(
    async (fd) => void oids.push(await fd.createObject('Note', { note: 'longer', title: 'a' })),
    longer,
    async ({ fd, end }) => {
      const [oid = ''] = oids
      expect(await outcome(fd.updateObject(oid, { note: 'x' }))).toBe('ConstraintViolation')
      expect(await outcome(fd.createObject('Note', { note: 'x' }))).toBe('ConstraintViolation')
      expect(await outcome(fd.createObjects([{ class: 'Note', attributes: { note: 'x' } }]))).toBe(
        'ConstraintViolation',
      )
      expect(await outcome(fd.createObject('Note', { note: 'xy' }))).toBe('ok')
      expect(await outcome(fd.alterClass('Note', longer))).toBe('AttributeInUse')
      expect(await outcome(fd.createIndex(index('byNote', 'Note', false, 'note')))).toBe('ok')
      expect((await fd.readClass('Note')).attributes[0]).not.toHaveProperty('minLength')
      expect(await end()).toBe('ok')
      expect((await fd.readClass('Note')).attributes[0]).toMatchObject({ minLength: 2, maxLength: 9 })
      // Under the constraint, what is left out is null.
      expect(await read(fd, await fd.createObject('Note', {}))).toMatchObject({ note: null })
    },
  )
})

const checked = { classFields: { checks: [{ name: 'other', expression: 'note != title' }] } }
const checksOf = async (fd: FederatedDatabase): Promise<unknown> => {
  return ((await fd.readClass('Note')) as unknown as { readonly checks?: unknown }).checks
}

it('what is written is held against a check to come, which nobody sees before, and nobody else may add', async () => {
  const oids: string[] = []
  await whileChanging(
    async (fd) => void oids.push(await fd.createObject('Note', { note: 'a', title: 'b' })),
    checked,
    async ({ fd, end }) => {
      const [oid = ''] = oids
      expect(await outcome(fd.updateObject(oid, { note: 'b' }))).toBe('ConstraintViolation')
      expect(await outcome(fd.createObject('Note', { note: 'x', title: 'x' }))).toBe('ConstraintViolation')
      const same = { class: 'Note', attributes: { note: 'x', title: 'x' } }
      expect(await outcome(fd.createObjects(Array(60).fill(same)))).toBe('ConstraintViolation')
      expect(await outcome(fd.createObject('Note', { note: 'x', title: 'y' }))).toBe('ok')
      expect(await checksOf(fd)).toBeUndefined()
      expect((await fd.verify()).problems).toEqual([])
      expect(await outcome(fd.alterClass('Note', checked))).toBe('AttributeInUse')
      const listed = [{ className: 'Note', attributes: [], checks: checked.classFields.checks }]
      expect(await outcome(fd.defineClasses(listed, 'createOrExtend'))).toBe('AttributeInUse')
      expect(await outcome(fd.alterClass('Note', { attributesToDelete: ['title'] }))).toBe('AttributeInUse')
      expect(await outcome(fd.alterClass('Note', toWhole))).toBe('InvalidDefinition')
      expect(await end()).toBe('ok')
      expect(await checksOf(fd)).toEqual(checked.classFields.checks)
    },
  )
})

it('an object that breaks a check to come may stay as it is, and then the check is not added', async () => {
  const oids: string[] = []
  await whileChanging(
    async (fd) => void oids.push(await fd.createObject('Note', { note: 'a', title: 'a' })),
    { ...checked, ...longer },
    async ({ fd, end }) => {
      const [oid = ''] = oids
      expect(await outcome(fd.updateObject(oid, { texts: ['b'] }))).toBe('ok')
      expect(await end()).toBe('ObjectsViolateConstraint')
      expect(await checksOf(fd)).toBeUndefined()
      expect(await outcome(fd.createObject('Note', { note: 'x', title: 'x' }))).toBe('ok')
    },
  )
})

it('others add, rename and delete while a check is being added', async () => {
  await whileChanging(
    async (fd) => void (await fd.createObject('Note', { note: 'a', title: 'b' })),
    checked,
    async ({ fd, end }) => {
      const added = { attributesToAdd: [{ attributeName: 'more', logicalType: 'string' }] }
      const short = [{ name: 'short', expression: 'LENGTH(title) < 3' }]
      expect(await outcome(fd.alterClass('Note', { ...added, classFields: { checks: short } }))).toBe('ok')
      expect(await outcome(fd.createObject('Note', { note: 'x', title: 'x' }))).toBe('ConstraintViolation')
      expect(await outcome(fd.createObject('Note', { title: 'long' }))).toBe('ConstraintViolation')
      expect(await end()).toBe('ok')
      // The change gives all checks.
      expect(await checksOf(fd)).toEqual(checked.classFields.checks)
      expect(await outcome(fd.createObject('Note', { title: 'long' }))).toBe('ok')
    },
  )
  await whileChanging(
    async (fd) => void (await fd.createObject('Note', { note: 'a', title: 'b' })),
    checked,
    async ({ fd, end }) => {
      const renamed = [
        { originalName: 'note', newName: 'text' },
        { originalName: 'title', newName: 'note' },
      ]
      await fd.alterClass('Note', { attributesToRename: renamed })
      expect(await outcome(fd.createObject('Note', { note: 'x', text: 'x' }))).toBe('ConstraintViolation')
      // The change names attributes as they were, and one of the names is that of another now.
      expect(await end()).toBe('AttributeInUse')
      expect(await outcome(fd.createObject('Note', { note: 'x', text: 'x' }))).toBe('ok')
    },
  )
  await whileChanging(
    async (fd) => void (await fd.createObject('Note', { note: 'a', title: 'b' })),
    checked,
    async ({ fd, end }) => {
      await fd.alterClass('Note', { attributesToDelete: ['title'] }, { isCascading: true })
      expect(await outcome(fd.createObject('Note', { note: 'x' }))).toBe('ok')
      expect(await end()).toBe('AttributeInUse')
      expect(await checksOf(fd)).toBeUndefined()
    },
  )
})

it('another change of the class comes in between of the look at its objects and the end', async () => {
  await whileChanging(
    async (fd) => void (await fd.createObject('Note', { note: 'longer' })),
    longer,
    async ({ fd, end }) => {
      await fd.alterClass('Note', {
        attributesToAdd: [{ attributeName: 'more', logicalType: 'string' }],
        attributesToRename: [{ originalName: 'note', newName: 'text' }],
      })
      expect(await outcome(fd.createObject('Note', { text: 'x' }))).toBe('ConstraintViolation')
      // The change names the attribute as it was.
      expect(await end()).toBe('UnknownAttribute')
      expect(await outcome(fd.createObject('Note', { text: 'x' }))).toBe('ok')
    },
  )
})

it('a type and constraints of values under it change together', async () => {
  const both = {
    attributesToChange: [{ attributeName: 'note', logicalType: 'integer', default: 5 }],
    attributesToConstrain: [{ attributeName: 'note', minimum: 5 }],
  }
  const oids: string[] = []
  await whileChanging(
    async (fd) => void oids.push(await fd.createObject('Note', { note: '7' })),
    both,
    async ({ fd, end }) => {
      expect(await outcome(fd.createObject('Note', { note: 'seven' }))).toBe('ValueNotAllowed')
      expect(await outcome(fd.createObject('Note', { note: '4' }))).toBe('ConstraintViolation')
      expect(await outcome(fd.createObject('Note', { note: '5' }))).toBe('ok')
      expect(await end()).toBe('ok')
      expect(await read(fd, oids[0] as string)).toMatchObject({ note: 7 })
      expect(await outcome(fd.createObject('Note', { note: 4 }))).toBe('ConstraintViolation')
      expect(await read(fd, await fd.createObject('Note', {}))).toMatchObject({ note: 5 })
    },
  )
})

const unlikeSeven = [{ name: 'unlike', expression: "CAST(note AS String) != '7'" }]

it('what is written is held against the checks of an attribute as they will mean it', async () => {
  const oids: string[] = []
  const prepare = async (fd: FederatedDatabase) => {
    await fd.alterClass('Note', { classFields: { checks: unlikeSeven } })
    oids.push(await fd.createObject('Note', { note: '8', title: 'a' }))
  }
  await whileChanging(prepare, toWhole, async ({ fd, end }) => {
    const [oid = ''] = oids
    // Now it is another text than 7, and afterwards it is the number.
    expect(await outcome(fd.createObject('Note', { note: '07' }))).toBe('ConstraintViolation')
    expect(await outcome(fd.updateObject(oid, { note: ' 7' }))).toBe('ConstraintViolation')
    expect(await outcome(fd.createObject('Note', { note: '7' }))).toBe('ConstraintViolation')
    expect(await outcome(fd.createObject('Note', { note: '09' }))).toBe('ok')
    const even = { classFields: { checks: [...unlikeSeven, { name: 'even', expression: "note != '5'" }] } }
    expect(await outcome(fd.alterClass('Note', even))).toBe('AttributeInUse')
    expect(await end()).toBe('ok')
    expect(await checksOf(fd)).toEqual(unlikeSeven)
    expect(await outcome(fd.createObject('Note', { note: 7 }))).toBe('ConstraintViolation')
  })
  oids.length = 0
  const prepareWrong = async (fd: FederatedDatabase) => {
    await prepare(fd)
    await fd.createObject('Note', { note: '07' })
  }
  await whileChanging(prepareWrong, toWhole, async ({ fd, end }) => {
    expect(await end()).toBe('ObjectsViolateConstraint')
    expect(await outcome(fd.createObject('Note', { note: '07' }))).toBe('ok')
  })
})

it('a check that names an attribute is added while its type is not changed, and the reverse', async () => {
  await whileChanging(
    async (fd) => void (await fd.createObject('Note', { note: '8' })),
    { classFields: { checks: unlikeSeven } },
    async ({ fd, end }) => {
      expect(await outcome(fd.alterClass('Note', toWhole))).toBe('AttributeInUse')
      expect(await end()).toBe('ok')
      expect(await outcome(fd.alterClass('Note', toWhole))).toBe('ok')
    },
  )
})

it('no class embeds objects of one whose types, constraints or checks are being changed', async () => {
  const embed = { attributesToAdd: [{ attributeName: 'part', logicalType: 'object', class: 'Part' }] }
  const checks = { classFields: { checks: [{ name: 'any', expression: "note != ''" }] } }
  for (const change of [toWhole, longer, checks]) {
    await whileChanging(
      async (fd) => void (await fd.createObject('Note', {})),
      change,
      async ({ fd, end }) => {
        expect(await outcome(fd.alterClass('Note', embed))).toBe('AttributeInUse')
        expect(await end()).toBe('ok')
        expect(await outcome(fd.alterClass('Note', embed))).toBe(change === checks ? 'ObjectsViolateConstraint' : 'ok')
      },
      'Part',
    )
  }
})

const defineHalf = async (fd: FederatedDatabase): Promise<string> => {
  const computed = { expression: 'n / 2', isStored: true }
  await fd.defineClasses([classOf('Half', { n: 'real', half: { logicalType: 'real', computed } })], 'create')
  return fd.createObject('Half', { n: 3 })
}
const toInteger = { attributesToChange: [{ attributeName: 'n', logicalType: 'integer' }] }

it('a stored attribute that is computed of it has the value of the type that there is', async () => {
  const oids: string[] = []
  await whileChanging(
    async (fd) => void oids.push(await defineHalf(fd)),
    toInteger,
    async ({ fd, end }) => {
      oids.push(await fd.createObject('Half', { n: 5 }))
      const halves = () => Promise.all(oids.map(async (oid) => (await read(fd, oid)).half))
      expect(await halves()).toEqual([1.5, 2.5])
      expect(await end()).toBe('ok')
      expect(await halves()).toEqual([1, 2])
    },
    'Half',
  )
})

it('an index on a stored attribute that is computed of it ends the change', async () => {
  await whileChanging(
    async (fd) => void (await defineHalf(fd)),
    toInteger,
    async ({ fd, end }) => {
      await fd.createIndex(index('byHalf', 'Half', false, 'half'))
      expect(await end()).toBe('AttributeInUse')
    },
    'Half',
  )
})

it('while an index is being built, its key is not computed in another way', async () => {
  await whileChanging(
    async (fd) => void (await defineHalf(fd)),
    (changer) => changer.createIndex(index('byHalf', 'Half', false, 'half')),
    async ({ fd, end }) => {
      const change = (expression: string) => {
        const computed = { expression, isStored: true }
        return outcome(fd.alterClass('Half', { attributesToConstrain: [{ attributeName: 'half', computed }] }))
      }
      expect(await change('n / 3')).toBe('AttributeInUse')
      expect(await end()).toBe('ok')
      expect(await change('n / 3')).toBe('ok')
    },
    'Half',
  )
})
