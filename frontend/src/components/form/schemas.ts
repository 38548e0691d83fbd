// The only file of the page that imports the schemas of the service at run time, so that they load with forms only.
import './zod-setup.ts'

export { grant as grantRequest } from '../../../../src/schemas/tables/access.ts'
export { createTokenRequest } from '../../../../src/schemas/auth.ts'
export { setCatalogConfigRequest } from '../../../../src/schemas/catalog-config.ts'
export { createDefinitionRequest } from '../../../../src/schemas/definitions.ts'
export { setEnvironmentRequest } from '../../../../src/schemas/environments.ts'
export {
  addColumnFields,
  dropColumnFields,
  OPERATION_REQUESTS,
  renameColumnFields,
} from '../../../../src/schemas/tables/maintenance.ts'
export { alertRequest } from '../../../../src/schemas/alerts.ts'
export { checkedPolicyRequest } from '../../../../src/schemas/policies.ts'
export { startPipelineRequest } from '../../../../src/schemas/pipelines.ts'
export { registerRequest } from '../../../../src/schemas/tables/tables.ts'
