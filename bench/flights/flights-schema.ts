/** The classes and indexes of the flights data, as a client would send them to PUT /v1/schema and POST /v1/index. */

const text = { logicalType: 'string', encoding: 'utf8', storage: 'variable' }
const whole = { logicalType: 'integer', encoding: 'signed', storage: 'b32' }
const real = { logicalType: 'real', storage: 'b64' }

function toOne(referencedClass: string, inverseAttribute: string): object {
  return { logicalType: 'reference', referencedClass, inverseAttribute }
}

function toMany(referencedClass: string, inverseAttribute: string): object {
  return { logicalType: 'list', elementSpecification: { logicalType: 'reference', referencedClass, inverseAttribute } }
}

function describe(className: string, isReferenceable: boolean, attributes: Record<string, object>): object {
  const definitions = Object.entries(attributes).map(([attributeName, type]) => ({ attributeName, ...type }))
  return { className, isReferenceable, attributes: definitions }
}

export const flightsClasses: readonly object[] = [
  describe('Position', false, { latitude: real, longitude: real, altitudeFeet: whole }),
  describe('Airline', true, {
    airlineId: whole,
    name: text,
    alias: text,
    iata: text,
    icao: text,
    callsign: text,
    country: text,
    isActive: { logicalType: 'boolean' },
    flights: toMany('Flight', 'airline'),
    routes: toMany('Route', 'airline'),
  }),
  describe('Airport', true, {
    airportId: whole,
    name: text,
    city: text,
    country: text,
    iata: text,
    icao: text,
    position: { logicalType: 'object', class: 'Position' },
    utcOffsetHours: real,
    daylightSaving: text,
    timeZone: text,
    departures: toMany('Flight', 'origin'),
    arrivals: toMany('Flight', 'destination'),
    routesOut: toMany('Route', 'source'),
    routesIn: toMany('Route', 'destination'),
  }),
  describe('Flight', true, {
    rowId: whole,
    date: { logicalType: 'date' },
    carrier: text,
    flightNumber: whole,
    airline: toOne('Airline', 'flights'),
    origin: toOne('Airport', 'departures'),
    destination: toOne('Airport', 'arrivals'),
    departure: { logicalType: 'time' },
    arrival: { logicalType: 'time' },
    elapsedMinutes: whole,
    airMinutes: whole,
    delayMinutes: whole,
    distance: whole,
  }),
  describe('Route', true, {
    airlineCode: text,
    airline: toOne('Airline', 'routes'),
    source: toOne('Airport', 'routesOut'),
    destination: toOne('Airport', 'routesIn'),
    isCodeshare: { logicalType: 'boolean' },
    stops: whole,
    equipment: text,
    flightsCounted: whole,
  }),
]

function index(name: string, indexedClass: string, isUnique: boolean, ...attributes: string[]): object {
  return { name, indexedClass, isUnique, keyAttributes: attributes.map((attributeName) => ({ attributeName })) }
}

/** Codes are unique where the data's own numbers are; IATA codes are not: two airports may share one. */
export const flightsIndexes: readonly object[] = [
  index('airlineById', 'Airline', true, 'airlineId'),
  index('airlineByIata', 'Airline', false, 'iata'),
  index('airportById', 'Airport', true, 'airportId'),
  index('airportByIata', 'Airport', false, 'iata'),
  index('flightByRow', 'Flight', true, 'rowId'),
  index('flightByDateAndCarrier', 'Flight', false, 'date', 'carrier'),
  index('flightByDistance', 'Flight', false, 'distance'),
]
