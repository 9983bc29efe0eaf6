// `node --require`: every name under E2B_TEST_DOMAIN is this machine, as wildcard DNS would say it.
const dns = require('node:dns')
const lookup = dns.lookup
dns.lookup = (name, options, done) => lookup(name.endsWith(process.env.E2B_TEST_DOMAIN) ? '127.0.0.1' : name, options, done)
