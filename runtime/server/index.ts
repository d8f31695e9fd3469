export { type HttpOptions, type HttpServer, checkAddress, isLoopback } from './http-server.js';
export { type RecentSessions, recentSessions } from './recent-sessions.js';
export { type ErrorBody, type ErrorCode, ServiceError } from './service-error.js';
export { DEFAULT_LIMITS, type Service, type ServiceLimits, type ServiceOptions, openService } from './service.js';
export { type Exporter, type GateSpans, gateSpans, otlpExporter } from './spans.js';
export { type RunningService, type StartOptions, startService } from './start-service.js';
export { OPERATIONS, openApiDocument } from './openapi.js';
export { sessionPages } from './session-pages.js';
