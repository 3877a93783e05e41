/** Schemas of the change feed (contract 2.4); each export is a type of the client with the same name. */
import { Type } from './json-schema.ts'
import { Attributes, Oid } from './wire-schemas.ts'

const position = Type.String({ description: 'The position to continue from.' })

export const ChangeRecord = Type.Object(
  {
    position: Type.Described(position, 'The position after this change.'),
    at: Type.String({ description: 'The time of the commit, by the clock of the server.' }),
    change: Type.Union(
      ['created', 'updated', 'deleted', 'linked', 'unlinked', 'schema'].map((word) => Type.Literal(word)),
      { description: 'linked and unlinked: an element of a list, set or map that is stored as links.' },
    ),
    class: Type.Optional(Type.String({ description: 'The class of the object, by its current name.' })),
    oid: Type.Optional(Oid),
    revision: Type.Optional(Type.String({ description: 'The revision of the record; each commit has a new one.' })),
    matched: Type.Optional(
      Type.Union(
        ['before', 'after', 'both'].map((word) => Type.Literal(word)),
        {
          description: 'When the object matches the predicate.',
        },
      ),
    ),
    attributes: Type.Optional(
      Type.Array(Type.String(), { description: 'For updates: the attributes that have another value.' }),
    ),
    before: Type.Optional(
      Type.Described(Attributes, 'Values before the update, or of the deleted object; without links.'),
    ),
    after: Type.Optional(
      Type.Described(Attributes, 'Values after the update, or of the created object; without links.'),
    ),
    attribute: Type.Optional(Type.String({ description: 'The attribute of the link.' })),
    target: Type.Optional(Oid),
    key: Type.Optional(Type.Unknown({ description: 'The key in a map.' })),
    classes: Type.Optional(Type.Array(Type.String(), { description: 'Created or changed.' })),
    deletedClasses: Type.Optional(Type.Array(Type.String())),
    indexes: Type.Optional(Type.Array(Type.String(), { description: 'Created or changed.' })),
    isIndexDeleted: Type.Optional(Type.Boolean()),
    sequences: Type.Optional(
      Type.Array(Type.String(), { description: 'Created or restarted; omitted if there are none.' }),
    ),
    isSequenceDeleted: Type.Optional(Type.Boolean({ description: 'Omitted if false.' })),
  },
  { description: 'A change of one object, of one link, or of the schema.' },
)

export const LiveBegin = Type.Object(
  {
    isOrdered: Type.Boolean({ description: 'The query has ORDER BY: events contain the place of each row.' }),
    isResumed: Type.Boolean({
      description: 'The result is unchanged since `Last-Event-ID`; otherwise all rows are sent again.',
    }),
  },
  { description: 'The first event, `begin`.' },
)

export const LiveRow = Type.Object(
  {
    oid: Oid,
    row: Type.Optional(
      Type.Unknown({
        description: 'The row of the query; omitted if the row leaves the result, or only moves.',
      }),
    ),
    after: Type.Optional(
      Type.Union([Oid, Type.Null()], {
        description: 'With ORDER BY, if the row gets a new place: the OID of the row before it, null for the first.',
      }),
    ),
  },
  { description: 'The events `row`, `enter`, `change` and `leave` of a live query.' },
)

export const LivePosition = Type.Object(
  {
    position,
    isAhead: Type.Optional(
      Type.Boolean({
        description:
          'The rows already include some commits after the position; a later event has the position that includes them all.',
      }),
    ),
  },
  { description: 'The event `position` of a live query: all events of a commit have been sent.' },
)

export const ChangesPage = Type.Object({
  changes: Type.Array(ChangeRecord),
  position,
  isAtEnd: Type.Boolean({ description: 'There were no further changes when the page was made.' }),
})
