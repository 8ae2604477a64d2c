pub mod compress;
pub mod factored;
pub mod fill;
pub mod make;
pub mod multiply;
pub mod sparsity;
