"""Parameters, gradients and optimizer of one rank. All parameters of a rank lie in one flat tensor, which ZeRO 1 cuts
into equal shards: gradients are reduced onto shards, each replica updates its own, and the shards are gathered."""
import torch

from model import initial_value, parameter_shapes

LEARNING_RATE, BETA1, BETA2, EPSILON = 1e-3, 0.9, 0.95, 1e-8


def local_part(name, value, dimension, plan, tp):
    """What a tp rank holds of a whole parameter or gradient."""
    if dimension is None:
        return value
    if name.endswith((".key", ".value")) and plan.model.kv_heads < plan.tp:
        head = tp * plan.model.kv_heads // plan.tp
        return value.view(plan.model.kv_heads, plan.model.head_dim, -1)[head]
    return value.chunk(plan.tp, dim=dimension)[tp]


class State:
    def __init__(self, plan, mesh, dtype):
        self.plan, self.mesh = plan, mesh
        self.shapes = {}
        for stage in plan.stages:
            if stage.pp == mesh.at.pp:
                self.shapes.update(parameter_shapes(plan.model, stage.layers, stage.embedding, stage.head))
        values = {name: local_part(name, initial_value(name, shape, dtype), dimension, plan, mesh.at.tp)
                  for name, (shape, dimension) in self.shapes.items()}
        size = sum(v.numel() for v in values.values())
        self.shard = -(-size // mesh.replicas.size)
        self.flat = torch.zeros(self.shard * mesh.replicas.size, dtype=dtype)
        self.flat_grad = torch.zeros_like(self.flat)
        self.parameters, self.grads, first = {}, {}, 0
        for name, value in values.items():
            window = slice(first, first + value.numel())
            self.parameters[name] = self.flat[window].view(value.shape)
            self.grads[name] = self.flat_grad[window].view(value.shape)
            self.parameters[name].copy_(value)
            first += value.numel()
        updated = self.shard if plan.zero_stage == 1 else len(self.flat)
        self.moments = [torch.zeros(updated, dtype=dtype) for _ in range(2)]
        self.steps = 0

    def reduce_gradients(self):
        """Sums over everything that computed a part of the same gradient. Under ZeRO 1 a replica then has only its
        shard; elsewhere the flat gradient is left as it was."""
        self._reduce_over_tp()
        replicas = self.mesh.replicas
        if self.plan.zero_stage == 1:
            return replicas.scatter_sum(self.flat_grad)
        return replicas.all_reduce(self.flat_grad)

    def _reduce_over_tp(self):
        """Norms see only some rows on a tp rank under sequence parallelism; a shared kv head only some queries."""
        tp, plan = self.mesh.tp, self.plan
        for name, grad in self.grads.items():
            if plan.sequence_parallel and self.shapes[name][1] is None:
                grad.copy_(tp.all_reduce(grad.clone()))
            if name.endswith((".key", ".value")) and plan.model.kv_heads < plan.tp:
                whole = grad.new_zeros(plan.model.kv_heads, *grad.shape)
                head = tp.index * plan.model.kv_heads // plan.tp
                whole[head] = grad
                grad.copy_(tp.all_reduce(whole)[head])

    def whole_gradient(self, reduced):
        """The flat gradient of all shards."""
        return self.mesh.replicas.gather_rows(reduced) if self.plan.zero_stage == 1 else reduced

    def update(self, reduced):
        """One Adam step on what this replica updates, then the shards of all replicas."""
        self.steps += 1
        first = self.mesh.replicas.index * self.shard if self.plan.zero_stage == 1 else 0
        own = self.flat[first:first + len(reduced)]
        mean, square = self.moments
        mean.mul_(BETA1).add_(reduced, alpha=1 - BETA1)
        square.mul_(BETA2).addcmul_(reduced, reduced, value=1 - BETA2)
        scale = (square / (1 - BETA2 ** self.steps)).sqrt_().add_(EPSILON)
        own.sub_(mean / (1 - BETA1 ** self.steps) / scale * LEARNING_RATE)
        if self.plan.zero_stage == 1:
            self.flat.copy_(self.mesh.replicas.gather_rows(own))
        self.flat_grad.zero_()
