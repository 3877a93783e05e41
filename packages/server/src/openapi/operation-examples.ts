/**
 * Name and example of each operation, for the OpenAPI document. On an empty server, the examples work in the order of the table of operations:
 * classes first, then objects, an index and queries.
 */

interface OperationExample {
  /** The operationId, from which generators name a function. */
  readonly id: string
  /** Values of the parameters in the path. */
  readonly path?: Readonly<Record<string, string>>
  readonly body?: unknown
  /** Bodies of other content types than JSON. */
  readonly otherBodies?: Readonly<Record<string, string>>
  readonly reply?: unknown
}

const vehicleClass = 'Fleet.Vehicle'
const firstModel = '3-3-1-1'

const model = {
  className: 'Fleet.Model',
  isReferenceable: true,
  attributes: [
    { attributeName: 'name', logicalType: 'string' },
    {
      attributeName: 'vehicles',
      logicalType: 'list',
      elementSpecification: { logicalType: 'reference', referencedClass: vehicleClass, inverseAttribute: 'model' },
    },
  ],
}
const vehicle = {
  className: vehicleClass,
  isReferenceable: true,
  attributes: [
    { attributeName: 'license', logicalType: 'string' },
    { attributeName: 'mileage', logicalType: 'integer' },
    {
      attributeName: 'model',
      logicalType: 'reference',
      referencedClass: 'Fleet.Model',
      inverseAttribute: 'vehicles',
    },
  ],
}
const depot = {
  className: 'Fleet.Depot',
  isReferenceable: true,
  attributes: [{ attributeName: 'city', logicalType: 'string' }],
}
const index = { name: 'byLicense', indexedClass: vehicleClass, isUnique: true }
const createdClasses = { classNumbers: ['1000000', '1000001'], uris: ['/v1/schema/1000000', '/v1/schema/1000001'] }
const webhook = { name: 'search' }
const letter = { name: 'search', number: '1' }

export const operationExamples: Readonly<Record<string, OperationExample>> = {
  'GET /': { id: 'getServer', reply: { uptime: 86_400_000, versions: ['v1'] } },
  'GET /v1': { id: 'listResources' },
  'POST /shutdown': { id: 'stopServer' },
  'POST /v1/shutdown': { id: 'stopServerV1' },
  'GET /v1/fd': { id: 'getFederatedDatabase' },
  'GET /v1/schema': { id: 'listClasses' },
  'POST /v1/schema': {
    id: 'createClasses',
    body: [depot],
    reply: { classNumbers: ['1000002'], uris: ['/v1/schema/1000002'] },
  },
  'PUT /v1/schema': { id: 'defineClasses', body: [model, vehicle], reply: createdClasses },
  'GET /v1/schema/namespace': { id: 'listNamespaces', reply: [{ name: null }, { name: 'Fleet' }] },
  'GET /v1/schema/namespace/:name': { id: 'getNamespace', path: { name: 'Fleet' } },
  'GET /v1/schema/:class': { id: 'getClass', path: { class: vehicleClass } },
  'PUT /v1/schema/:class': {
    id: 'changeClass',
    path: { class: vehicleClass },
    body: { attributesToAdd: [{ attributeName: 'color', logicalType: 'string' }] },
    reply: { classNumbers: ['1000001'], uris: ['/v1/schema/1000001'] },
  },
  'DELETE /v1/schema/:class': { id: 'deleteClass', path: { class: 'Fleet.Depot' } },
  'POST /v1/object': {
    id: 'createObject',
    body: { class: 'Fleet.Model', attributes: { name: 'Tipo' } },
    otherBodies: {
      'application/x-ndjson': '{"class":"Fleet.Model","attributes":{"name":"Panda"}}\n',
    },
    reply: { __identifier__: firstModel, uri: `/v1/object/${firstModel}` },
  },
  'GET /v1/object/:oid': {
    id: 'getObject',
    path: { oid: firstModel },
    reply: { __class__: 'Fleet.Model', __identifier__: firstModel, name: 'Tipo', vehicles: [] },
  },
  'PUT /v1/object/:oid': { id: 'updateObject', path: { oid: firstModel }, body: { attributes: { name: 'Tipo 1.4' } } },
  'DELETE /v1/object/:oid': { id: 'deleteObject', path: { oid: firstModel } },
  'POST /v1/index': {
    id: 'createIndex',
    body: { ...index, keyAttributes: [{ attributeName: 'license' }] },
    reply: { name: index.name, uri: '/v1/index/byLicense' },
  },
  'GET /v1/index': { id: 'listIndexes' },
  'GET /v1/index/:name': { id: 'getIndex', path: { name: index.name } },
  'DELETE /v1/index/:name': { id: 'deleteIndex', path: { name: index.name } },
  'POST /v1/query': {
    id: 'runQuery',
    body: { query: 'FROM ooObj WHERE $$ID != $none RETURN COUNT() AS objects', parameters: { none: '0-0-0-0' } },
    otherBodies: { 'text/plain': 'FROM ooObj RETURN COUNT() AS objects' },
    reply: [{ objects: 1 }],
  },
  'GET /v1/export': { id: 'exportData' },
  'GET /v1/changes': { id: 'listChanges' },
  'GET /v1/webhook': { id: 'listWebhooks' },
  'POST /v1/webhook/:name/resume': { id: 'resumeWebhook', path: webhook },
  'GET /v1/webhook/:name/dead-letter': { id: 'listDeadLetters', path: webhook },
  'GET /v1/webhook/:name/dead-letter/:number': { id: 'getDeadLetter', path: letter },
  'DELETE /v1/webhook/:name/dead-letter/:number': { id: 'deleteDeadLetter', path: letter },
  'POST /v1/webhook/:name/dead-letter/:number/redeliver': { id: 'redeliverDeadLetter', path: letter },
  'GET /v1/statement': { id: 'listStatements' },
  'DELETE /v1/statement/:id': { id: 'stopStatement', path: { id: '1-12' } },
  'GET /v1/security/audit': { id: 'readAuditLog' },
  'GET /metrics': { id: 'getMetrics' },
  'GET /v1/tool': { id: 'listTools' },
  'POST /v1/tool': { id: 'runTool', body: { tool: 'Statistics' } },
  'POST /v1/security/session': { id: 'signIn', body: { name: 'admin', password: 'correct horse battery staple' } },
  'GET /v1/security/session': { id: 'getCaller' },
  'DELETE /v1/security/session': { id: 'signOut' },
  'PUT /v1/security/password': {
    id: 'changePassword',
    body: { currentPassword: 'correct horse battery staple', newPassword: 'a longer horse battery staple' },
  },
  'GET /v1/security/user': { id: 'listUsers' },
  'POST /v1/security/user': {
    id: 'createUser',
    body: { name: 'alice', password: 'paper lantern under the stairs', roles: ['reader'] },
  },
  'GET /v1/security/user/:name': { id: 'getUser', path: { name: 'alice' } },
  'PUT /v1/security/user/:name': { id: 'updateUser', path: { name: 'alice' }, body: { roles: ['writer'] } },
  'DELETE /v1/security/user/:name': { id: 'deleteUser', path: { name: 'alice' } },
  'GET /v1/security/token': { id: 'listTokens' },
  'POST /v1/security/token': { id: 'createToken', body: { name: 'nightly import', roles: ['writer'] } },
  'DELETE /v1/security/token/:id': { id: 'revokeToken', path: { id: '7f3k9q2m' } },
  'GET /v1/security/role': { id: 'listRoles' },
  'POST /v1/security/role': {
    id: 'createRole',
    body: {
      name: 'fleet-reader',
      grants: [{ on: { kind: 'namespace', namespace: 'Fleet' }, actions: ['read'], hidden: ['license'] }],
    },
  },
  'GET /v1/security/role/:name': { id: 'getRole', path: { name: 'fleet-reader' } },
  'PUT /v1/security/role/:name': {
    id: 'updateRole',
    path: { name: 'fleet-reader' },
    body: { grants: [{ on: { kind: 'class', className: vehicleClass }, actions: ['read'] }] },
  },
  'DELETE /v1/security/role/:name': { id: 'deleteRole', path: { name: 'fleet-reader' } },
  'POST /v1/transaction': {
    id: 'runTransaction',
    body: [
      {
        method: 'post',
        uri: '/v1/object',
        body: { class: 'Fleet.Model', attributes: { name: 'Panda' } },
        id: 'panda',
      },
      {
        method: 'post',
        uri: '/v1/object',
        // biome-ignore lint/suspicious/noTemplateCurlyInString: the notation of transactions for the object created above.
        body: { class: vehicleClass, attributes: { license: 'AB 123', model: '${panda}' } },
      },
    ],
    reply: [
      { responseCode: '201', result: { __identifier__: '3-3-1-2', uri: '/v1/object/3-3-1-2' } },
      { responseCode: '201', result: { __identifier__: '3-4-1-1', uri: '/v1/object/3-4-1-1' } },
    ],
  },
}
