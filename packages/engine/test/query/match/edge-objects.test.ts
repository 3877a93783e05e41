/** References to edge objects: one edge of a pattern, by way of an object that the edge's name means (DO, section 5, edgeClass). */
import { describe, expect } from 'vitest'
import { type QueryDatabase, queryTest } from '../query-database.ts'

const schema = `UPDATE SCHEMA {
  CREATE CLASS Geo.Thing {note: String}
  CREATE CLASS Geo.Place SUPERCLASS Geo.Thing {name: String}
  CREATE CLASS Geo.Residence SUPERCLASS Geo.Thing {since: Integer, place: Reference{Referenced: Geo.Place}}
  CREATE CLASS Geo.Second SUPERCLASS Geo.Residence {floor: Integer}
  CREATE CLASS Geo.Person {name: String,
    livesAt: Reference{Referenced: Geo.Residence, EdgeClass: Geo.Residence, EdgeAttribute: place},
    stays: List{Element: Reference{EdgeClass: Geo.Residence, EdgeAttribute: place}},
    byYear: Map{Key: String, Element: Reference{referenced: ooObj, edgeClass: Geo.Residence, edgeAttribute: place}},
    friend: Reference{Referenced: Geo.Person}}
}`

/** Ann lives in Oslo, Bob in Rome; Ann has stayed in Rome twice, in Oslo once, and nowhere once. */
const people = `
  LET oslo = CREATE Place {name: 'Oslo'};
  LET rome = CREATE Place {name: 'Rome'};
  LET bob = CREATE Person {name: 'Bob', livesAt: CREATE Residence {since: 2001, place: $rome, note: 'quiet'}};
  CREATE Person {name: 'Ann', friend: $bob, livesAt: CREATE Second {since: 1999, place: $oslo, floor: 3},
    stays: LIST{CREATE Residence {since: 1, place: $rome}, CREATE Second {since: 2, place: $rome},
      CREATE Residence {since: 3, place: $oslo}, CREATE Residence {since: 4}},
    byYear: MAP{'1999': $oslo, '2000': CREATE Residence {since: 5, place: $rome}}}`

const data = [schema, people]

async function found(db: QueryDatabase, text: string): Promise<string[]> {
  const rows = await db.rows(text)
  return rows.map((row) => Object.values(row).join(' ')).sort()
}

describe('a reference to edge objects', () => {
  queryTest('is one edge to the objects behind', data, async (db) => {
    expect(await found(db, 'MATCH (a:Person)-[:livesAt]->(b) RETURN a.name, b.name')).toEqual(['Ann Oslo', 'Bob Rome'])
    expect(await found(db, 'MATCH (a:Person)-[:stays]->(b:Place) RETURN b.name')).toEqual(['Oslo', 'Rome', 'Rome'])
    // What is no edge object leads nowhere.
    expect(await found(db, 'MATCH (a:Person)-[:byYear]->(b) RETURN b.name')).toEqual(['Rome'])
    expect(await found(db, "MATCH (a:Person {name: 'Bob'})-->(b:Place) RETURN b.name")).toEqual(['Rome'])
    expect(await found(db, 'MATCH (a:Person)-[:livesAt*1]->(b:Place) RETURN a.name, b.name')).toEqual([
      'Ann Oslo',
      'Bob Rome',
    ])
  })

  queryTest('is followed back, over its index and inverse too', data, async (db) => {
    const back = async (): Promise<string[]> =>
      found(db, "MATCH (b:Place {name: 'Rome'})<-[e:stays]-(a:Person) RETURN a.name, e.since")
    expect(await back()).toEqual(['Ann 1', 'Ann 2'])
    expect(await found(db, "MATCH (a:Person)-[e:livesAt]->(b:Place {name: 'Rome'}) RETURN a.name, e.since")).toEqual([
      'Bob 2001',
    ])
    await db.rows('CREATE INDEX ofPlace ON Residence (place); CREATE INDEX home ON Person (livesAt)')
    expect(await back()).toEqual(['Ann 1', 'Ann 2'])
    const plan = await db.analyze("MATCH (b:Place {name: 'Rome'})<-[:livesAt]-(a:Person) RETURN a.name")
    expect(JSON.stringify(plan)).toMatch(/place: index ofPlace.*livesAt: index home/)
    expect(await found(db, "MATCH (b:Place {name: 'Rome'})--(a:Person) RETURN a.name")).toEqual([
      'Ann',
      'Ann',
      'Ann',
      'Bob',
    ])
  })

  queryTest('has a name that is the edge object', data, async (db) => {
    expect(
      await found(
        db,
        'MATCH (a:Person)-[e:livesAt]->(b) WHERE e.since < 2000 RETURN a.name, e.since, CAST(e AS Second).floor',
      ),
    ).toEqual(['Ann 1999 3'])
    expect(await found(db, 'MATCH (a)-[e:stays]->(b) GROUP BY b.name RETURN b.name, SUM(e.since)')).toEqual([
      'Oslo 3',
      'Rome 3',
    ])
    const [row] = await db.rows("MATCH (a:Person {name: 'Bob'})-[e:livesAt]->(b) RETURN *")
    expect(row).toMatchObject({
      a: { name: 'Bob' },
      e: { __class__: 'Geo.Residence', since: 2001, note: 'quiet' },
      b: { name: 'Rome' },
    })
    const [id] = await db.rows("MATCH (a:Person {name: 'Bob'})-[e:livesAt]->(b) RETURN e, a.livesAt AS held")
    expect(id?.e).toBe(id?.held)
    expect((await db.failure('MATCH (a:Person)-[e:livesAt]->(b) RETURN e.attribute')).message).toMatch(
      /Geo.Residence has no attribute/,
    )
    // An edge that may be of any attribute is one as ever, and tells its object.
    expect(
      await found(
        db,
        "MATCH (a:Person {name: 'Ann'})-[e]->(b) RETURN e.attribute, CAST(e.edgeData AS Residence).since",
      ),
    ).toEqual(['byYear 5', 'friend ', 'livesAt 1999', 'stays 1', 'stays 2', 'stays 3'])
  })

  queryTest('ends at its object where the vertex has the class of that, or one above or below', data, async (db) => {
    const at = (label: string): Promise<string[]> =>
      found(db, `MATCH (a:Person {name: 'Ann'})-[:stays]->(r:${label}) RETURN CAST(r AS Residence).since`)
    expect(await at('Residence')).toEqual(['1', '2', '3', '4'])
    expect(await at('Second')).toEqual(['2'])
    expect(await at('Thing')).toEqual(['1', '2', '3', '4'])
    expect(await at('Place')).toEqual(['', '', ''])
    expect(await at('ooObj')).toEqual(['', '', ''])
    expect(await found(db, 'MATCH (r:Residence {since: 2001})<-[:livesAt]-(a) RETURN a.name')).toEqual(['Bob'])
    expect(await found(db, 'MATCH (a:Person)-[:livesAt]->(r:Residence)-[:place]->(b) RETURN a.name, b.name')).toEqual([
      'Ann Oslo',
      'Bob Rome',
    ])
    // The class may be written wherever the vertex is named.
    expect(await found(db, 'MATCH (a:Person)-[:livesAt]->(r), (r:Second) RETURN r.floor')).toEqual(['3'])
    const [row] = await db.rows('MATCH (a)-[e:livesAt]->(r:Second) RETURN e, r AS r')
    expect(row?.e).toMatchObject({ attribute: 'livesAt', to: row?.r, toClass: 'Geo.Second' })
    expect(row?.e).not.toHaveProperty('edgeData')
  })

  queryTest('counts as one edge of a walk, and ends at its object only where the walk does', data, async (db) => {
    const walks = (length: string, end: string): Promise<string[]> =>
      found(db, `MATCH w = (a:Person {name: 'Ann'})-[${length}]->(x${end}) RETURN w.attribute, COUNT(w)`)
    expect(await walks('*2..3', ':Place')).toEqual(['friend,livesAt 2'])
    expect(await walks('*2', ':Residence')).toEqual(['friend,livesAt 2'])
    expect(await walks(':livesAt*1..4', ':Residence')).toEqual(['livesAt 1'])
    expect(await found(db, "MATCH w = (b:Place {name: 'Rome'})<-[*2]-(x) RETURN w.attribute")).toEqual([
      'livesAt,friend',
    ])
    expect(await found(db, 'MATCH (r:Residence {since: 2001})<-[:livesAt]-(b)<-[:friend]-(c) RETURN c.name')).toEqual([
      'Ann',
    ])
  })

  queryTest('leads nowhere by an object that has nothing behind it, or that is gone', data, async (db) => {
    const stays = (): Promise<string[]> => found(db, 'MATCH (a)-[e:stays]->(b) RETURN e.since, b.name')
    const edges = ['1 Rome', '2 Rome', '3 Oslo']
    expect(await stays()).toEqual(edges)
    await db.rows('DELETE Residence WHERE since = 1 RETURN COUNT()')
    expect(await stays()).toEqual(edges.slice(1))
    await db.rows('UPDATE Residence WHERE since = 2 SET place TO null')
    expect(await stays()).toEqual(edges.slice(2))
    await db.rows("DELETE Place WHERE name = 'Oslo' RETURN COUNT()")
    expect(await stays()).toEqual([])
    expect(await found(db, "MATCH (b:Place {name: 'Rome'})<-[:stays]-(a) RETURN a.name")).toEqual([])
    expect(await found(db, 'MATCH (a)-[:stays]->(r:Residence) RETURN r.since')).toEqual(['2', '3', '4'])
  })

  queryTest('shows its object in walks, and other edges show none', data, async (db) => {
    const [row] = await db.rows(
      "MATCH w = (a:Person {name: 'Ann'})-[:friend]->(b)-[e:livesAt]->(c) RETURN w, a AS a, b AS b, e AS e, c AS c",
    )
    expect(row?.w).toEqual([
      { from: row?.a, fromClass: 'Geo.Person', attribute: 'friend', to: row?.b, toClass: 'Geo.Person' },
      {
        from: row?.b,
        fromClass: 'Geo.Person',
        attribute: 'livesAt',
        to: row?.c,
        toClass: 'Geo.Place',
        edgeData: row?.e,
        edgeDataClass: 'Geo.Residence',
      },
    ])
    const back = await db.rows("MATCH w = (c:Place {name: 'Rome'})<-[:livesAt]-(b) RETURN w[0] AS edge, b AS b, c AS c")
    expect(back).toEqual([
      {
        edge: expect.objectContaining({ from: back[0]?.b, to: back[0]?.c, edgeData: row?.e, toClass: 'Geo.Place' }),
        b: row?.b,
        c: row?.c,
      },
    ])
    expect(
      await db.rows(
        'MATCH w = (a)-[:friend]->(b) RETURN w[0].edgeData AS d, w[0].edgeDataClass AS c, w[0].edgeData = a AS s',
      ),
    ).toEqual([{ d: null, c: null, s: null }])
  })

  queryTest('repeats an edge where it repeats the reference', data, async (db) => {
    const both = (mode: string): Promise<string[]> =>
      found(
        db,
        `MATCH ${mode} (a:Person)-[e:stays]->(b:Place {name: 'Rome'})<-[f:stays]-(c:Person) RETURN e.since, f.since`,
      )
    expect(await both('TRAIL')).toEqual(['1 2', '2 1'])
    expect(await both('WALK')).toEqual(['1 1', '1 2', '2 1', '2 2'])
    expect(await both('ACYCLIC')).toEqual([])
    expect(await both('SIMPLE')).toEqual(['1 1', '1 2', '2 1', '2 2'])
  })

  queryTest('is a reference like any other elsewhere', data, async (db) => {
    expect(await found(db, 'FROM Person RETURN name, livesAt.since, livesAt.place.name')).toEqual([
      'Ann 1999 Oslo',
      'Bob 2001 Rome',
    ])
    expect(await found(db, "FROM Person WHERE stays.place ANY (name = 'Oslo') RETURN name")).toEqual(['Ann'])
    await db.rows("UPDATE Person WHERE name = 'Bob' SET livesAt.since TO 2002 ADD CREATE Residence {since: 9} TO stays")
    expect(await found(db, "FROM Person WHERE name = 'Bob' RETURN livesAt.since, stays[0].since")).toEqual(['2002 9'])
    const wrong = await db.failure('UPDATE Person SET livesAt TO (LOOKUP Place WHERE name = "Rome")')
    expect(wrong.type).toBe('InvalidReference')
  })
})

describe('the definition of edges', () => {
  queryTest('is that of REST, in words of any case', data, async (db) => {
    const shown = async (name: string): Promise<unknown> => {
      const [cls] = (await db.rows('SHOW CLASS Person')) as unknown as { attributes: { attributeName: string }[] }[]
      return cls?.attributes.find(({ attributeName }) => attributeName === name)
    }
    const edge = { logicalType: 'reference', edgeClass: 'Geo.Residence', edgeAttribute: 'place' }
    expect(await shown('livesAt')).toEqual({ attributeName: 'livesAt', ...edge, referencedClass: 'Geo.Residence' })
    expect(await shown('stays')).toMatchObject({ elementSpecification: { ...edge, referencedClass: 'Geo.Residence' } })
    expect(await shown('byYear')).toMatchObject({ elementSpecification: { ...edge, referencedClass: 'ooObj' } })
    await db.rows(`UPDATE SCHEMA { ALTER CLASS Second {ADD place: String}
      CREATE CLASS Late {a: Reference{EDGECLASS: Second, edgeattribute: Residence::place}} }`)
    expect(await db.rows('SHOW CLASS Late')).toMatchObject([
      { attributes: [{ edgeClass: 'Geo.Second', edgeAttribute: 'Geo.Residence::place' }] },
    ])
    const add = async (type: string): Promise<string> =>
      (await db.failure(`UPDATE SCHEMA { ALTER CLASS Person {ADD bad: ${type}} }`)).type
    expect(await add('Reference{EdgeClass: Residence}')).toBe('InvalidDefinition')
    expect(await add('Reference{Referenced: Person, EdgeClass: Residence, EdgeAttribute: place}')).toBe(
      'InvalidDefinition',
    )
    expect(await add('Reference{EdgeClass: Second, EdgeAttribute: place}')).toBe('InvalidDefinition')
    expect(await add('Reference{EdgeClass: Residence, EdgeAttribute: plcae}')).toBe('UnknownAttribute')
  })

  queryTest('follows renames, and keeps what it needs', data, async (db) => {
    for (const change of ['DROP CLASS Geo.Residence', 'DROP CLASS Geo.Place']) {
      expect((await db.failure(`UPDATE SCHEMA { ${change} }`)).type).toBe('ClassInUse')
    }
    const { type } = await db.failure('UPDATE SCHEMA { ALTER CLASS Residence {DROP place} }')
    expect(type).toBe('AttributeInUse')
    await db.rows('UPDATE SCHEMA { RENAME CLASS Residence TO Home ALTER CLASS Geo.Home {RENAME place TO spot} }')
    expect(await found(db, 'MATCH (a)-[h:livesAt]->(p) RETURN a.name, h.since, p.name')).toEqual([
      'Ann 1999 Oslo',
      'Bob 2001 Rome',
    ])
  })
})

describe('edges in pairs', () => {
  const paired = [
    `UPDATE SCHEMA {
      CREATE CLASS Person {name: String, out: List{Element: Reference{Inverse: from, EdgeClass: Call, EdgeAttribute: to}, CollectionTypeName: TreeListOfReferences},
        in: Set{Element: Reference{EdgeClass: Call, EdgeAttribute: from, Inverse: to}}}
      CREATE CLASS Call {minutes: Integer, from: Reference{Referenced: Person, Inverse: out}, to: Reference{Referenced: Person, Inverse: in}}
    }`,
    `LET ann = CREATE Person {name: 'Ann'}; LET bob = CREATE Person {name: 'Bob'}; LET eve = CREATE Person {name: 'Eve'};
     CREATE Call {minutes: 1, from: $ann, to: $bob};
     CREATE Call {minutes: 2, from: $ann, to: $bob};
     CREATE Call {minutes: 3, from: $bob, to: $eve}`,
  ]

  queryTest('are followed by both sides, over inverse attributes', paired, async (db) => {
    expect(await found(db, 'MATCH (a:Person)-[c:out]->(b:Person) RETURN a.name, b.name, c.minutes')).toEqual([
      'Ann Bob 1',
      'Ann Bob 2',
      'Bob Eve 3',
    ])
    expect(await found(db, 'MATCH (a:Person)-[c:in]->(b:Person) RETURN a.name, b.name, c.minutes')).toEqual([
      'Bob Ann 1',
      'Bob Ann 2',
      'Eve Bob 3',
    ])
    expect(await found(db, "MATCH (a:Person {name: 'Eve'})<-[:out*1..2]-(b) RETURN b.name")).toEqual([
      'Ann',
      'Ann',
      'Bob',
    ])
    const plan = await db.analyze("MATCH (a:Person {name: 'Eve'})<-[:out]-(b) RETURN b.name")
    expect(JSON.stringify(plan)).toMatch(/"to: inverse in","out: inverse from"/)
    await db.rows('DELETE Call WHERE minutes = 1 RETURN COUNT()')
    expect(await found(db, 'MATCH (a)-[c:out]->(b) RETURN c.minutes')).toEqual(['2', '3'])
  })

  const withNames = [...paired, 'CREATE INDEX personName ON Person (name)']
  queryTest('are counted at both of their ends, to begin where there are fewer', withNames, async (db) => {
    for (const text of [
      "MATCH (a:Person {name = 'Ann'})-[c:out]->(b:Person {name = 'Bob'}) RETURN c.minutes",
      "MATCH (b:Person {name = 'Bob'})<-[c:out]-(a:Person {name = 'Ann'}) RETURN c.minutes",
    ]) {
      expect(await found(db, text)).toEqual(['1', '2'])
    }
  })
})
