/** The client's wire types are those of the schemas that the server validates and documents by. */
import type * as wire from '@ashlar/client'
import { describe, expectTypeOf, it } from 'vitest'
import type { Static } from '../../src/wire/json-schema.ts'
import type * as schemas from '../../src/wire/wire-schemas.ts'

describe('the wire types of the client', () => {
  it('take every reply of the server', () => {
    expectTypeOf<Static<typeof schemas.ServiceRoot>>().toExtend<wire.ServiceRoot>()
    expectTypeOf<Static<typeof schemas.Resources>>().toExtend<wire.ResourceList>()
    expectTypeOf<Static<typeof schemas.FederatedDatabaseRecord>>().toExtend<wire.FederatedDatabaseRecord>()
    expectTypeOf<Static<typeof schemas.ClassesDefined>>().toExtend<wire.ClassesDefined>()
    expectTypeOf<Static<typeof schemas.NamespaceEntry>>().toExtend<wire.NamespaceEntry>()
    expectTypeOf<Static<typeof schemas.ObjectCreated>>().toExtend<wire.ObjectCreated>()
    expectTypeOf<Static<typeof schemas.ObjectRepresentation>>().toExtend<wire.ObjectRepresentation>()
    expectTypeOf<Static<typeof schemas.IndexCreated>>().toExtend<wire.IndexCreated>()
    expectTypeOf<Static<typeof schemas.IndexRecord>>().toExtend<wire.IndexRecord>()
    expectTypeOf<keyof Static<typeof schemas.IndexRecord>>().toEqualTypeOf<keyof wire.IndexRecord>()
    expectTypeOf<Static<typeof schemas.SchemaReport>>().toExtend<wire.SchemaReport>()
    expectTypeOf<Static<typeof schemas.ToolReply>>().toExtend<wire.ToolReply>()
    expectTypeOf<Static<typeof schemas.ToolRecord>>().toExtend<wire.ToolRecord>()
    expectTypeOf<Static<typeof schemas.StatementRecord>>().toExtend<wire.StatementRecord>()
    expectTypeOf<keyof Static<typeof schemas.StatementRecord>>().toEqualTypeOf<keyof wire.StatementRecord>()
    expectTypeOf<keyof Static<typeof schemas.ProblemBody>>().toEqualTypeOf<keyof wire.Problem>()
    expectTypeOf<keyof Static<typeof schemas.ClassRepresentation>>().toEqualTypeOf<keyof wire.ClassRepresentation>()
  })
})
