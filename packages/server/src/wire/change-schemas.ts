/** What the change feed sends (contract 2.4); each export is a type of the client by the same name. */
import { Type } from './json-schema.ts'
import { Attributes, Oid } from './wire-schemas.ts'

const position = Type.String({ description: 'Behind which to go on.' })

export const ChangeRecord = Type.Object(
  {
    position: Type.Described(position, 'Behind this change.'),
    at: Type.String({ description: 'When it was committed, by the clock of the server that did.' }),
    change: Type.Union(
      ['created', 'updated', 'deleted', 'linked', 'unlinked', 'schema'].map((word) => Type.Literal(word)),
      { description: 'linked and unlinked: an element of a list, set or map that is kept as links.' },
    ),
    class: Type.Optional(Type.String({ description: 'Of the object, by its name as it is now.' })),
    oid: Type.Optional(Oid),
    revision: Type.Optional(Type.String({ description: 'Of the record that is told last: another for each commit.' })),
    matched: Type.Optional(
      Type.Union(
        ['before', 'after', 'both'].map((word) => Type.Literal(word)),
        {
          description: 'When the predicate holds for the object.',
        },
      ),
    ),
    attributes: Type.Optional(Type.Array(Type.String(), { description: 'Of an update: those with another value.' })),
    before: Type.Optional(
      Type.Described(Attributes, 'What an update has replaced, or what the deleted object held; without links.'),
    ),
    after: Type.Optional(
      Type.Described(Attributes, 'What an update has set, or what the created object holds; without links.'),
    ),
    attribute: Type.Optional(Type.String({ description: 'Of the link.' })),
    target: Type.Optional(Oid),
    key: Type.Optional(Type.Unknown({ description: 'Of the pair of a map.' })),
    classes: Type.Optional(Type.Array(Type.String(), { description: 'Created or changed.' })),
    deletedClasses: Type.Optional(Type.Array(Type.String())),
    indexes: Type.Optional(Type.Array(Type.String(), { description: 'Created or changed.' })),
    isIndexDeleted: Type.Optional(Type.Boolean()),
  },
  { description: 'A change of one object, of one link, or of the schema.' },
)

export const LiveBegin = Type.Object(
  {
    isOrdered: Type.Boolean({ description: 'The query has ORDER BY: events tell the place of each row.' }),
    isResumed: Type.Boolean({
      description: 'The rows that were told up to `Last-Event-ID` are still the result; else they are told anew.',
    }),
  },
  { description: 'Of the event `begin`, the first one.' },
)

export const LiveRow = Type.Object(
  {
    oid: Oid,
    row: Type.Optional(
      Type.Unknown({
        description: 'As the query returns it; left out where a row leaves, or has another place alone.',
      }),
    ),
    after: Type.Optional(
      Type.Union([Oid, Type.Null()], {
        description: 'With ORDER BY, where the row comes to a place: the OID of the row before it, null for the first.',
      }),
    ),
  },
  { description: 'Of the events `row`, `enter`, `change` and `leave` of a live query.' },
)

export const LivePosition = Type.Object(
  {
    position,
    isAhead: Type.Optional(
      Type.Boolean({ description: 'The rows show commits behind the position, too; a later event tells that of all.' }),
    ),
  },
  { description: 'Of the event `position` of a live query: all events of a commit are told.' },
)

export const ChangesPage = Type.Object({
  changes: Type.Array(ChangeRecord),
  position,
  isAtEnd: Type.Boolean({ description: 'There was nothing more when the page was made.' }),
})
