// Loaded before a program (`node --import`): any attempt to look up a name or open a socket throws, and says so on stderr.
import dgram from 'node:dgram';
import dns from 'node:dns';
import net from 'node:net';

function refuse(): never {
  process.stderr.write('NETWORK USED\n');
  throw new Error('the network is blocked');
}

net.Socket.prototype.connect = refuse;
dgram.Socket.prototype.connect = refuse;
dgram.Socket.prototype.send = refuse;
Object.assign(dns, { lookup: refuse, resolve: refuse });
Object.assign(dns.promises, { lookup: refuse, resolve: refuse });
globalThis.fetch = refuse;
